import { hash } from 'node:crypto'
import type { Scope } from './client.ts'
import type { Person } from './person.ts'

/** The kinds of subjects whose state must be the same at the approval as at the request. */
type SubjectKind = 'key' | 'master-key' | 'client' | 'network' | 'link' | 'audit-log' | null

interface ApprovalKindEntry {
  /** The act that the request is for, in words: a verb in the imperative, and its object. */
  readonly description: string
  readonly subjectKind: SubjectKind
  /**
   * Whether the payload is deleted once the request has ended, because it names a person whom the
   * record must no longer name, or says where a person lives.
   */
  readonly isForgotten: boolean
}

const kept = { isForgotten: false } as const

/** Every act that may need the approval of a second person. */
export const approvalKinds = {
  'key-export': { description: 'Export a key', subjectKind: 'key', ...kept },
  'key-retirement': { description: 'Retire a key', subjectKind: 'key', ...kept },
  'key-deletion': { description: 'Delete a key', subjectKind: 'key', ...kept },
  'master-key-rotation': {
    description: 'Rotate the master key',
    subjectKind: 'master-key',
    ...kept,
  },
  'disclosure-scopes': {
    description: 'Let a client read PINs or card numbers, or set PINs',
    subjectKind: 'client',
    ...kept,
  },
  'client-credentials': {
    description: 'Change the credentials of a client that reads PINs or card numbers, or sets PINs',
    subjectKind: 'client',
    ...kept,
  },
  network: {
    description: 'Register a card network, or change its credentials',
    subjectKind: 'client',
    ...kept,
  },
  'network-retirement': {
    description: 'Retire a card network with all of its keys',
    subjectKind: 'network',
    ...kept,
  },
  link: {
    description: 'Register a link of a card network, or change its settings',
    subjectKind: 'link',
    ...kept,
  },
  administrator: {
    description: 'Register an administrator, or change its credentials',
    subjectKind: 'client',
    ...kept,
  },
  'unblock-cards': { description: 'Unblock many cards', subjectKind: null, ...kept },
  'card-delivery': {
    description: 'Send the plastic of a card to another address',
    subjectKind: null,
    isForgotten: true,
  },
  erasure: {
    description: 'Erase what the audit log says of a card or a client',
    subjectKind: null,
    isForgotten: true,
  },
  'audit-successor': {
    description: 'Begin the successor of an audit log',
    subjectKind: 'audit-log',
    ...kept,
  },
} as const satisfies Record<string, ApprovalKindEntry>

export type ApprovalKind = keyof typeof approvalKinds

/** Whether a text names a kind. */
export const isApprovalKind = (text: string): text is ApprovalKind =>
  Object.hasOwn(approvalKinds, text)

/** `waiting` and `approved` are open; the others are final. */
export const approvalStates = [
  'waiting',
  'approved',
  'done',
  'failed',
  'refused',
  'withdrawn',
  'expired',
  'stale',
] as const
export type ApprovalState = (typeof approvalStates)[number]

/** More approvals that wait for a person are not counted. */
export const countedMost = 100

/**
 * Scopes that disclose PINs or card numbers to a client, in clear or sealed to a device, or let it
 * set PINs.
 */
export const guardedScopes = [
  'pin.reveal',
  'pin.encrypted',
  'cards.encrypted',
  'pin.write',
] as const satisfies readonly Scope[]

/** The maximum age of an approver's login, in seconds. */
export const freshLoginSeconds = 300
/** The maximum seconds by which an issuer's clock may be ahead. */
const aheadSeconds = 60

/**
 * Whether the issuer authenticated a person within the last five minutes.
 * @param now the time of this machine's clock.
 */
export function isFreshLogin({ authenticatedAt }: Person, now: Date): boolean {
  const seconds = (now.getTime() - authenticatedAt.getTime()) / 1_000
  return seconds >= -aheadSeconds && seconds <= freshLoginSeconds
}

/** A request to the private listener that needs an approval. */
export interface AskedRequest {
  readonly method: string
  /** Without a query: none of these routes has one. */
  readonly path: string
  /** Null for a request without a body. */
  readonly body: object | null
}

/** The state of the subject when the request was made. */
export interface ApprovedState {
  readonly kind: ApprovalKind
  /** The names of the subject, as JSON. */
  readonly subject: string
  /** SHA-256 of the state of the subject when the request was made. */
  readonly stateDigest: Uint8Array
}

/** An approved request with its approver and the state that it was approved for. */
export interface ApprovedCall extends AskedRequest {
  readonly approvedBy?: string | null
  readonly drawnFrom: ApprovedState
}

/**
 * Composes the text that is approved: one line of JSON. The nonce makes each payload unique, so the
 * hash, which stays on record, does not reveal a deleted payload.
 */
export const composePayload = ({ body, method, path }: AskedRequest, nonce: string): string =>
  JSON.stringify({ method, path, body, nonce })

/** Parses the request in a payload. */
export const parsePayload = (payload: string): AskedRequest => JSON.parse(payload) as AskedRequest

/** SHA-256 of a payload, in UTF-8. */
export const hashPayload = (payload: string): Uint8Array => hash('sha256', payload, 'buffer')

/** The parts of an approval that are sealed, each for a subject of its own. */
export type SealedApprovalPart = 'payload' | 'reason' | 'outcome'

/** The subject that a part is sealed for. */
export const approvalSubject = (approvalId: string, part: SealedApprovalPart): string =>
  `${approvalId}\n${part}`
