/**
 * Ends with 3 and a sentence where the Node that npm scripts find cannot run TypeScript: npm may
 * have installed none.
 */
import { findRuntimeRefusal } from '../bin/bundled-node.mjs'

const refusal = findRuntimeRefusal()
if (refusal !== null) {
  console.error(refusal)
  process.exit(3)
}
