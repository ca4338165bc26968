#!/usr/bin/env node
/**
 * `npx pinfold COMMAND`. In a package the program is JavaScript and runs on the Node of the
 * machine; in a clone it is TypeScript and runs on the Node 24 of the package `node`, in a process
 * that gets the terminal and every signal.
 */
import { spawn } from 'node:child_process'
import { getCiphers, getCurves } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findBundledNode } from './bundled-node.mjs'
import { loadEnvFile } from './env-file.mjs'

// The demo is a separate program.
const isDemo = process.argv[2] === 'demo'
const name = isDemo ? 'scripts/demo' : 'src/cli/pinfold'
const words = process.argv.slice(isDemo ? 3 : 2)
const source = new URL(`../${name}.ts`, import.meta.url)
const isClone = existsSync(source)
const program = isClone ? source : new URL(`../dist/program/${name}.js`, import.meta.url)

// The file that `pinfold init` wrote. The environment takes precedence.
const refusal = loadEnvFile(process.argv.slice(2))
if (refusal !== null) refuse(refusal)
reachLoopbackDirectly()

if (isClone && !process.versions.node.startsWith('24.')) {
  const bundled = findBundledNode()
  if (bundled.refusal !== undefined) refuse(bundled.refusal)
  startOn(bundled.path)
} else {
  if (!isClone) refuseOtherRuntime()
  process.argv = [process.execPath, fileURLToPath(program), ...words]
  await import(program)
}

/** States in one sentence what this Node lacks, before any module that would fail is loaded. */
function refuseOtherRuntime() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 13)) {
    refuse(`Pinfold needs Node.js 22.13 or later; this is ${process.versions.node}.`)
  }
  const ciphers = new Set(getCiphers())
  const has = (...names) => names.every((each) => ciphers.has(each))
  const features = {
    'SQLite (node:sqlite), which locks the data directory': isBuiltin('node:sqlite'),
    'WebAssembly, which runs the embedded database': typeof WebAssembly === 'object',
    'Triple DES (des-ede3-ecb, des-ede3-cbc), for PIN blocks and CVVs': has(
      'des-ede3',
      'des-ede3-cbc',
    ),
    'AES-256 (ECB, CBC, GCM), which encrypts card numbers and keys': has(
      'aes-256-ecb',
      'aes-256-cbc',
      'aes-256-gcm',
    ),
    'the curve P-256, which signs tokens': getCurves().includes('prime256v1'),
  }
  const lacking = Object.keys(features).filter((feature) => !features[feature])
  if (lacking.length > 0) {
    refuse(
      `This Node.js (${process.versions.node}, ${process.execPath}) lacks ${lacking.join('; and ')}.`,
    )
  }
  // Node 22 prints at every start that SQLite is experimental, which users cannot change.
  const [print] = process.listeners('warning')
  if (!print) return
  process.off('warning', print)
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning' || !warning.message.includes('SQLite'))
      print(warning)
  })
}

/** Excludes this machine from the proxy, whose loopback is another machine's. */
function reachLoopbackDirectly() {
  const { env } = process
  const excepted = env.no_proxy || env.NO_PROXY || ''
  const all = [excepted, 'localhost', '127.0.0.1', '[::1]'].filter((each) => each !== '')
  for (const name of ['no_proxy', 'NO_PROXY']) env[name] = all.join(',')
}

function refuse(why) {
  console.error(why)
  process.exit(3)
}

function startOn(node) {
  const child = spawn(node, [fileURLToPath(program), ...words], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {
    // A terminal sends the signal to both processes; a second signal would interrupt the stop.
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
  child.on('error', ({ message }) => {
    console.error(
      `The bundled Node could not be started: ${message}. Run npm ci, or npm rebuild node --ignore-scripts=false.`,
    )
    process.exitCode = 3
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
}
