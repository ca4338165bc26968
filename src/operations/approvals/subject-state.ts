import { hash } from 'node:crypto'
import { type ApprovalKind, type ApprovedState, approvalKinds } from '../../domain/approval.ts'
import { Problem } from '../../domain/problem.ts'
import { findAuditLog } from '../../storage/audit-log/log.ts'
import { findAdministeredClient } from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { findMasterKeyCheckValue, lockInstallation } from '../../storage/engine/installation.ts'
import { listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { findZoneMasterKey } from '../../storage/keys/key-blocks.ts'
import { listZoneKeys } from '../../storage/keys/zone-keys.ts'
import { findLink } from '../../storage/links/links.ts'

/** The names of a request's subject; null for each one that it does not name. */
export interface ApprovalSubject {
  /** A key of the installation, of a zone, or a zone master key. */
  readonly key: string | null
  readonly zoneMasterKey: string | null
  readonly clientId: string | null
  readonly linkName: string | null
}

/** Finds the names among the members of a request. */
export const parseSubject = (members: Readonly<Record<string, unknown>>): ApprovalSubject => {
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  const { clientId, key, linkName, zoneMasterKey } = members
  return {
    key: text(key),
    zoneMasterKey: text(zoneMasterKey),
    clientId: text(clientId),
    linkName: text(linkName),
  }
}

/** Lists the present state of a client. */
async function listClientState(connection: Connection, { clientId }: ApprovalSubject) {
  const client = clientId === null ? null : await findAdministeredClient(connection, clientId)
  if (!client) return null
  const { active, credentialsVersion, kind, scopes } = client
  return { active, credentialsVersion, kind, scopes }
}

/** The present state of each kind of subject: everything on which a requester may base an act. */
const states = {
  async key(connection: Connection, { clientId, key, zoneMasterKey }: ApprovalSubject) {
    const versions = (await listHsmKeys(connection)).filter(({ keyName }) => keyName === key)
    const zoneKeys = clientId === null ? [] : await listZoneKeys(connection, clientId)
    // One after the other, because they share a connection.
    const own = key === null ? null : await findZoneMasterKey(connection, key)
    const wrapping =
      zoneMasterKey === null ? null : await findZoneMasterKey(connection, zoneMasterKey)
    return [
      versions.map((each) => [each.keyVersion, each.state, each.keyCheckValue]),
      zoneKeys
        .filter(({ keyName }) => keyName === key)
        .map((each) => [each.keyCheckValue, each.retiredAt]),
      [own?.keyCheckValue ?? null, wrapping?.keyCheckValue ?? null],
    ]
  },
  'master-key': (connection: Connection) => findMasterKeyCheckValue(connection),
  client: listClientState,
  async network(connection: Connection, subject: ApprovalSubject) {
    const client = await listClientState(connection, subject)
    const keys = client && subject.clientId ? await listZoneKeys(connection, subject.clientId) : []
    return [client, keys.map((each) => [each.keyName, each.keyCheckValue, each.retiredAt])]
  },
  async link(connection: Connection, { linkName }: ApprovalSubject) {
    const link = linkName === null ? null : await findLink(connection, linkName)
    if (!link) return null
    const { createdAt: _1, lastSignedOnAt: _2, sessions: _3, signedOnSessions: _4, ...set } = link
    return set
  },
  async 'audit-log'(connection: Connection) {
    const log = await findAuditLog(connection)
    return log && [log.log, log.origin]
  },
}

/** Computes the SHA-256 of the present state of a request's subject. */
export async function computeStateDigest(
  connection: Connection,
  kind: ApprovalKind,
  subject: ApprovalSubject,
): Promise<Uint8Array> {
  const { subjectKind } = approvalKinds[kind]
  const state = subjectKind === null ? null : await states[subjectKind](connection, subject)
  return hash('sha256', JSON.stringify(state), 'buffer')
}

/** Whether the subject of a request is unchanged since the request. */
export async function isUnchanged(
  connection: Connection,
  { kind, stateDigest, subject }: ApprovedState,
): Promise<boolean> {
  const now = await computeStateDigest(connection, kind, JSON.parse(subject) as ApprovalSubject)
  return Buffer.compare(now, stateDigest) === 0
}

/**
 * Compares the state again in the transaction that executes the request. The installation stays
 * locked until the act is done, so that no client, link or network changes in between.
 * @throws `Problem` `approval_stale`.
 */
export async function requireUnchanged(
  connection: Connection,
  approved: ApprovedState,
): Promise<void> {
  if (approvalKinds[approved.kind].subjectKind === null) return
  await lockInstallation(connection)
  if (!(await isUnchanged(connection, approved))) throw new Problem('approval_stale')
}
