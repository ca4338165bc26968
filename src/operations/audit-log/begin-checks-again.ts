import { Problem } from '../../domain/problem.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import * as checks from '../../storage/audit-log/checks.ts'
import { findAuditLog } from '../../storage/audit-log/log.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type CheckSigner, lockState, writeSigned } from './check-state.ts'

/**
 * Begins the checks of rows against the audit log anew, in the transaction that restores a sandbox:
 * the next check accepts its state as correct, and follows the entries after it. All entries from
 * before are appended already.
 * @throws `Problem` `unavailable` while another process runs the check.
 */
export async function beginChecksAgain(connection: Connection, signer: CheckSigner): Promise<void> {
  const check = await lockState(connection, signer)
  if (!check) {
    const detail = 'Rows are being compared with the audit log. Retry in a second.'
    throw new Problem('unavailable', { detail, retryAfterSeconds: 1 })
  }
  await checks.removeAllDigests(connection)
  const log = await findAuditLog(connection)
  const rowsFold = await checks.foldRowDigests(connection)
  const actsNumber = await checks.findNewestActNumber(connection)
  const followed = [log?.log ?? 1, log?.size ?? 0] as const
  const rowsDigest = Buffer.from(rowsFold).toString('hex')
  const nothing = { cards: 0, findings: 0, cardsDigest: '' }
  // A result, since the signed state must belong to the newest one.
  const digestedAct = await insertAct(connection, {
    act: 'check.digested',
    subjectKind: 'log',
    subject: 'cards',
    details: JSON.stringify({ ...nothing, rowsDigest, actsNumber, followed }),
    clientId: null,
    requestId: null,
  })
  await writeSigned(connection, signer, {
    followedLog: followed[0],
    followedIndex: followed[1],
    hasBaseline: false,
    startedAt: null,
    finishedAt: null,
    afterToken: '',
    cards: 0,
    findings: 0,
    keptFold: Buffer.alloc(0),
    newFold: Buffer.alloc(0),
    digestedAct,
    digestedFold: Buffer.alloc(0),
    actsNumber,
    rowsFold,
    signature: null,
  })
}
