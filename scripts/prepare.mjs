/**
 * What `npm ci` runs at its end in a clone: makes the empty database that a first start unpacks.
 * Where it cannot, the first start makes its own, and takes seconds longer.
 */
import { findRuntimeRefusal } from '../bin/bundled-node.mjs'

// Nothing of the clone runs on this Node, and npm start says so.
if (findRuntimeRefusal() === null) {
  const { makeDatabase } = await import('./package/database.ts')
  const { cloneDatabase } = await import('../src/storage/engine/made-database.ts')
  await makeDatabase(cloneDatabase).catch((error) => console.warn(error))
}
