import { hash } from 'node:crypto'
import type { Scope } from './client.ts'
import type { Person } from './person.ts'

/** Whose state has to be the same when something is approved as when it was asked for. */
type SubjectKind = 'key' | 'master-key' | 'client' | 'network' | 'link' | 'audit-log' | null

interface ApprovalKindEntry {
  /** What is asked for, in words. */
  readonly description: string
  readonly subjectKind: SubjectKind
  /**
   * Whether what was asked for is forgotten once it is over: it names whom the record is not to
   * name any more.
   */
  readonly isForgotten: boolean
}

const kept = { isForgotten: false } as const

/** What may need a second person, all of it. */
export const approvalKinds = {
  'key-export': { description: 'Exporting a key', subjectKind: 'key', ...kept },
  'key-retirement': { description: 'Retiring a key', subjectKind: 'key', ...kept },
  'key-deletion': { description: 'Forgetting a key', subjectKind: 'key', ...kept },
  'master-key-rotation': {
    description: 'Rotate the master key',
    subjectKind: 'master-key',
    ...kept,
  },
  'disclosure-scopes': {
    description: 'Letting a client read PINs or card numbers, or set PINs',
    subjectKind: 'client',
    ...kept,
  },
  'client-credentials': {
    description: 'Other credentials of a client that reads PINs or card numbers, or sets PINs',
    subjectKind: 'client',
    ...kept,
  },
  network: {
    description: 'A new card network, or other credentials of one',
    subjectKind: 'client',
    ...kept,
  },
  'network-retirement': {
    description: 'Retiring a card network with all of its keys',
    subjectKind: 'network',
    ...kept,
  },
  link: {
    description: 'A new link of a card network, or another address or key of one',
    subjectKind: 'link',
    ...kept,
  },
  administrator: {
    description: 'A new administrator, or other credentials of one',
    subjectKind: 'client',
    ...kept,
  },
  'unblock-cards': { description: 'Unblocking many cards', subjectKind: null, ...kept },
  erasure: {
    description: 'Erasing what the audit log says of a card or a client',
    subjectKind: null,
    isForgotten: true,
  },
  'audit-successor': {
    description: 'Letting a successor of the audit log begin',
    subjectKind: 'audit-log',
    ...kept,
  },
} as const satisfies Record<string, ApprovalKindEntry>

export type ApprovalKind = keyof typeof approvalKinds

/** Whether a text names a kind. */
export const isApprovalKind = (text: string): text is ApprovalKind =>
  Object.hasOwn(approvalKinds, text)

/** `waiting` and `approved` go on; the others are the end of it. */
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

/**
 * Scopes by which a client gets PINs or card numbers, in clear or sealed to a device, or sets PINs.
 */
export const guardedScopes = [
  'pin.reveal',
  'pin.encrypted',
  'cards.encrypted',
  'pin.write',
] as const satisfies readonly Scope[]

/** The maximum age of an approver's login, in seconds. */
export const freshLoginSeconds = 300
/** How far the clock of an issuer may be ahead. */
const aheadSeconds = 60

/**
 * Whether the issuer authenticated a person within the last five minutes.
 * @param now by the clock of the machine.
 */
export function isFreshLogin({ authenticatedAt }: Person, now: Date): boolean {
  const seconds = (now.getTime() - authenticatedAt.getTime()) / 1_000
  return seconds >= -aheadSeconds && seconds <= freshLoginSeconds
}

/** A request to the private listener that waits for its approval. */
export interface AskedRequest {
  readonly method: string
  /** Without a query: none of these routes takes one. */
  readonly path: string
  /** Null where it has none. */
  readonly body: object | null
}

/** The state that a request was drawn from. */
export interface ApprovedState {
  readonly kind: ApprovalKind
  /** Names of what the request is about, as JSON. */
  readonly subject: string
  /** SHA-256 of the state of the subject when the request was made. */
  readonly stateDigest: Uint8Array
}

/** A request that is carried out, who approved it, and the state that it was approved for. */
export interface ApprovedCall extends AskedRequest {
  readonly approvedBy?: string | null
  readonly drawnFrom: ApprovedState
}

/**
 * The exact text that is approved: one line of JSON. The nonce makes each one's own, and keeps its
 * hash, which stays on record, from telling what it was once it is forgotten.
 */
export const composePayload = ({ body, method, path }: AskedRequest, nonce: string): string =>
  JSON.stringify({ method, path, body, nonce })

/** Parses the request in a payload. */
export const parsePayload = (payload: string): AskedRequest => JSON.parse(payload) as AskedRequest

/** SHA-256 of a payload, in UTF-8. */
export const hashPayload = (payload: string): Uint8Array => hash('sha256', payload, 'buffer')

/** What a payload or an outcome is bound to where it is sealed. */
export const approvalSubject = (approvalId: string, column: 'payload' | 'outcome'): string =>
  `${approvalId}\n${column}`
