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

/** A client that a request is about, as it is now. */
interface SubjectClient {
  readonly clientId: string
  readonly kind: string
  readonly active: boolean
  readonly scopes: readonly string[]
  readonly authentication: ClientAuthentication
  readonly credentialsVersion: number
  readonly credentialsChangedAt: string
  /** Who registered it or gave it credentials, beside the client itself, in the order of time. */
  readonly credentialsGivenBy: readonly string[]
  /** Of its public keys (RFC 7638). */
  readonly keyThumbprints: readonly string[]
}

/** What an approver looks at beside the payload. */
export interface ApprovalBackground {
  /** Null where the request is about no client, or about one that is not there. */
  readonly client: SubjectClient | null
  /** Of the public keys in the request (RFC 7638). */
  readonly keyThumbprints: readonly string[]
}

/**
 * Reads the subject of a request for its viewer.
 * @param payload null after it was erased.
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

/** Everyone who registered a client or gave it credentials: each once, the latest last. */
const listGivers = (provenance: readonly ProvenanceAct[]): readonly string[] => {
  const givers = provenance
    .filter(({ act }) => act === 'created' || act === 'credentials_set')
    .map(({ by }) => by)
  return givers.filter((by, at) => givers.lastIndexOf(by) === at)
}
