#!/usr/bin/env node
/**
 * `npx pinfold COMMAND`, whatever Node the machine has: the program runs on the Node 24 of the package
 * `node`, in a process that gets the terminal and every signal.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// The demo is a program of its own.
const isDemo = process.argv[2] === 'demo'
const program = isDemo ? '../scripts/demo.ts' : '../src/cli/pinfold.ts'
const file = fileURLToPath(new URL(program, import.meta.url))
const words = process.argv.slice(isDemo ? 3 : 2)

if (process.versions.node.startsWith('24.')) {
  process.argv = [process.execPath, file, ...words]
  await import(new URL(program, import.meta.url))
} else {
  startOn(bundledNode())
}

function startOn(node) {
  const child = spawn(node, [file, ...words], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {
    // A terminal sends it to both by itself, and a second one would not let the service finish.
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  child.on('error', ({ message }) => {
    console.error(`The bundled Node could not be started: ${message}. Run npm ci.`)
    process.exitCode = 3
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
}

function bundledNode() {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'))
    return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    console.error('The bundled Node is not installed: run npm ci.')
    return process.exit(3)
  }
}
