import { approvalKinds, parsePayload } from '../../domain/approval.ts'
import {
  type ClientAuthentication,
  type ProvenanceAct,
  selectAuthentication,
} from '../../domain/client.ts'
import { listKeyThumbprints } from '../../domain/client-keys.ts'
import { toMembers } from '../../domain/members.ts'
import type { ApprovalRow } from '../../storage/approvals/approvals.ts'
import { findAdministeredClient } from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'
import type { ApprovalSubject } from './subject-state.ts'

/** The present state of the client that a request concerns. */
interface SubjectClient {
  readonly clientId: string
  readonly kind: string
  readonly active: boolean
  readonly scopes: readonly string[]
  readonly authentication: ClientAuthentication
  readonly credentialsVersion: number
  readonly credentialsChangedAt: string
  /**
   * The people who registered it or issued its credentials, in the order of time, without the
   * client itself.
   */
  readonly credentialsGivenBy: readonly string[]
  /** The thumbprints of its public keys (RFC 7638). */
  readonly keyThumbprints: readonly string[]
}

/** The facts that an approver sees in addition to the payload. */
export interface ApprovalBackground {
  /** Null if the request concerns no client, or one that does not exist. */
  readonly client: SubjectClient | null
  /** The thumbprints of the public keys in the request (RFC 7638). */
  readonly keyThumbprints: readonly string[]
}

/**
 * Reads the subject of a request for its viewer.
 * @param payload null after its deletion.
 */
export async function findBackground(
  connection: Connection,
  { kind, subject }: ApprovalRow,
  payload: string | null,
): Promise<ApprovalBackground> {
  const { isForgotten } = approvalKinds[kind]
  const { clientId } = JSON.parse(subject) as ApprovalSubject
  const isAboutClient = clientId !== null && !isForgotten
  const known = isAboutClient ? await findAdministeredClient(connection, clientId) : null
  const asked = toMembers(payload && parsePayload(payload).body)
  return {
    client: known && {
      clientId: known.clientId,
      kind: known.kind,
      active: known.active,
      scopes: known.scopes,
      authentication: selectAuthentication(known),
      credentialsVersion: known.credentialsVersion,
      credentialsChangedAt: known.credentialsChangedAt.toISOString(),
      credentialsGivenBy: listGivers(known.provenance),
      keyThumbprints: known.jwks === null ? [] : listKeyThumbprints(JSON.parse(known.jwks)),
    },
    keyThumbprints: listKeyThumbprints(asked.jwks),
  }
}

/** Lists everyone who registered a client or issued its credentials, once each, the latest last. */
const listGivers = (provenance: readonly ProvenanceAct[]): readonly string[] => {
  const givers = provenance
    .filter(({ act }) => act === 'created' || act === 'credentials_set')
    .map(({ by }) => by)
  return givers.filter((by, at) => givers.lastIndexOf(by) === at)
}
