/**
 * Exits with 3 and a sentence when the Node of npm scripts cannot run TypeScript, for example
 * because npm has not installed one.
 */
import { findRuntimeRefusal } from '../bin/bundled-node.mjs'

const refusal = findRuntimeRefusal()
if (refusal !== null) {
  console.error(refusal)
  process.exit(3)
}
