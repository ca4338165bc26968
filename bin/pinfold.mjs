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

/** Commands that are programs of their own. */
const programs = { demo: '../scripts/demo.ts', keys: '../scripts/keys.ts' }

const [command = '', ...rest] = process.argv.slice(2)
const isProgram = Object.hasOwn(programs, command)
const program = isProgram ? programs[command] : '../src/cli/pinfold.ts'
const file = fileURLToPath(new URL(program, import.meta.url))
const words = isProgram ? rest : process.argv.slice(2)

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
