import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, onKey, statement } from '../engine/database.ts'

/** What of a card lies under the installation's keys. */
export interface CardUnderKeys {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  readonly personalData: Uint8Array
  readonly pinBlock: Uint8Array | null
  /** `pin-storage/1` with a PIN block, `pvk/1` with a PVV. */
  readonly pinKey: string
  readonly cvk: string
}

const listStatement = statement(
  'list_cards_under_keys',
  `select public_token as "publicToken", encrypted_pan as "encryptedPan",
     personal_data as "personalData", pin_block as "pinBlock", pin_key as "pinKey", cvk
   from card where public_token > $1 order by public_token limit $2`,
)

/** Some cards of any client, in the order of their tokens. */
export const listCardsUnderKeys = (
  connection: Connection,
  afterToken: string,
  limit: number,
): Promise<CardUnderKeys[]> => connection.query(listStatement, [afterToken, limit])

const movePanStatement = statement(
  'move_pan',
  `update card set encrypted_pan = $3 where public_token = $1 and encrypted_pan = $2
   returning public_token as "publicToken"`,
)

/** Puts a PAN under another key, if it is still what it was. @returns whether it was. */
export const movePan = async (
  connection: Connection,
  publicToken: PublicToken,
  before: Uint8Array,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(movePanStatement, [publicToken, before, after])).length === 1

const movePersonalDataStatement = statement(
  'move_personal_data',
  `update card set personal_data = $3 where public_token = $1 and personal_data = $2
   returning public_token as "publicToken"`,
)

/** Puts personal data under another key, if they are still what they were. @returns whether. */
export const movePersonalData = async (
  connection: Connection,
  publicToken: PublicToken,
  before: Uint8Array,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(movePersonalDataStatement, [publicToken, before, after])).length === 1

/** A PIN as it is kept to be revealed. */
interface PinUnderKey {
  readonly pinBlock: Uint8Array
  readonly pinKey: string
}

const movePinStatement = statement(
  'move_pin',
  `update card set pin_block = $4, pin_key = $5
   where public_token = $1 and pin_block = $2 and pin_key = $3
   returning public_token as "publicToken"`,
)

/** Puts a PIN under another key, unless another PIN was set since. @returns whether it did. */
export const movePin = async (
  connection: Connection,
  publicToken: PublicToken,
  before: PinUnderKey,
  after: PinUnderKey,
): Promise<boolean> => {
  const values = [publicToken, before.pinBlock, before.pinKey, after.pinBlock, after.pinKey]
  return (await connection.query(movePinStatement, values)).length === 1
}

// An equation would leave the order nothing to say, and the list might come from anywhere.
const forgetFingerprintsStatement = statement(
  'forget_pan_fingerprints',
  `with old as materialized (
     select pan_fingerprint from pan_fingerprint
     where key_version >= (select $1::integer) and key_version <= (select $1::integer)
     order by key_version limit $3
   )
   delete from pan_fingerprint using old
   where ${onKey('pan_fingerprint', 'old', ['pan_fingerprint'])} and abs(key_version - $1) <= 0 and exists (
     select 1 from hsm_key where key_name = 'pan-fingerprint' and key_version = $1
       and retired_at <= now() - make_interval(secs => $2)
   )
   returning public_token as "publicToken"`,
)

/** Forgets some of the fingerprints under a version that is retired for so many seconds. @returns how many. */
export const forgetPanFingerprints = async (
  connection: Connection,
  keyVersion: number,
  settleSeconds: number,
  limit: number,
): Promise<number> =>
  (await connection.query(forgetFingerprintsStatement, [keyVersion, settleSeconds, limit])).length

const countFingerprintsStatement = statement(
  'count_pan_fingerprints',
  `select public_token as "publicToken" from pan_fingerprint where key_version = $1 limit 1`,
)

/** Whether any card is still found by a version of the fingerprints' key. */
export const hasPanFingerprints = async (
  connection: Connection,
  keyVersion: number,
): Promise<boolean> => (await connection.query(countFingerprintsStatement, [keyVersion])).length > 0

/** What a PAN is known by, under one version of the fingerprints' key. */
export interface PanFingerprintColumns {
  readonly fingerprint: Uint8Array
  readonly keyVersion: number
}

const addFingerprintStatement = statement(
  'add_pan_fingerprint',
  `insert into pan_fingerprint (pan_fingerprint, public_token, key_version) values ($1, $2, $3)
   on conflict (pan_fingerprint) do nothing returning public_token as "publicToken"`,
)

/** Has a card found by another version of the fingerprints' key. @returns whether it was not before. */
export const addPanFingerprint = async (
  connection: Connection,
  { fingerprint, keyVersion }: PanFingerprintColumns,
  publicToken: PublicToken,
): Promise<boolean> =>
  (await connection.query(addFingerprintStatement, [fingerprint, publicToken, keyVersion])).length >
  0
