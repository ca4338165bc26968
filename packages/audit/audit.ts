/**
 * Verifies an audit log, its receipts and its exports, without the service: in Node.js 20.19 and
 * later and in browsers.
 *
 * ```ts
 * const keys = parseVerifierKeys(await readFile('keys', 'utf8'))
 * const { entry, checkpoint } = await verifyReceipt(receipt, keys)
 * const { findings } = await verifyFolder(read, { keys })
 * ```
 */
export { AuditFault, type AuditFaultCode } from './audit-fault.ts'
export { type Checkpoint, parseCheckpoint } from './checkpoints.ts'
export type { ErasureReport } from './erasures.ts'
export type { Finding, FindingCode } from './findings.ts'
export {
  type FolderOptions,
  type FolderReport,
  type ListFolder,
  type LogReport,
  verifyFolder,
} from './folder.ts'
export { findMostBytes } from './limits.ts'
export { checkGrowth, type Growth } from './monitor.ts'
export {
  openCheckpoint,
  openNote,
  parseVerifierKey,
  parseVerifierKeys,
  type SignedCheckpoint,
  type VerifiedSignature,
  type VerifierKey,
} from './notes.ts'
export type { ReadFile } from './openings.ts'
export { parseReceipt, type Receipt, type VerifiedReceipt, verifyReceipt } from './receipt.ts'
export { splitBundle, tilePath } from './tiles.ts'
export { computeRoot, leafHash, verifyConsistency, verifyInclusion } from './tree.ts'
