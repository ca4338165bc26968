/**
 * Finds the Node 24 that the package `node` installs in a clone. Its install script may not have
 * run.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const remedy = 'or use Node.js 24 on this machine.'

/** @returns {{ path: string } | { refusal: string }} its path, or a sentence with the remedy */
export function findBundledNode() {
  let folder
  try {
    folder = dirname(createRequire(import.meta.url).resolve('node/package.json'))
  } catch {
    return {
      refusal: `The bundled Node.js 24 is not installed: run npm ci (without --omit=dev), ${remedy}`,
    }
  }
  const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(path)) return { path }
  return {
    refusal:
      'The bundled Node.js 24 was not installed, because npm ran no install scripts ' +
      `(ignore-scripts): run npm rebuild node --ignore-scripts=false, ${remedy}`,
  }
}

/**
 * @returns {string | null} the reason why this Node cannot run a program of this clone, as a
 *   sentence
 */
export function findRuntimeRefusal() {
  const { node } = process.versions
  if (node.startsWith('24.')) return null
  const found = findBundledNode()
  const next = found.refusal ?? 'Node.js 24 is installed here: use npm run or npx.'
  return `In a clone, Pinfold needs Node.js 24; this is ${node}. ${next}`
}
