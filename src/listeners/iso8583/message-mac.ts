import type { LinkMacs } from '../../operations/links/macs.ts'
import type { IsoMessage } from './codec/layout.ts'
import { encode, lastFieldLength } from './codec/message.ts'
import type { Profile } from './profile-schema.ts'

/** The dependencies of a conversation's MACs. */
interface MacParts {
  readonly macs: LinkMacs
  readonly profile: Profile
  /** The network of the keys. */
  readonly networkId: string
}

/** Returns the name of a message's MAC key; null if its profile has no MACs. */
export function findMacKeyName({ mac }: Profile, { fields }: IsoMessage): string | null {
  if (!mac) return null
  const index = fields[mac.control]?.slice(mac.indexAt, mac.indexAt + 2) || mac.without
  return mac.keyName.replace('{index}', index)
}

/** The MAC is in the last possible field. */
const macField = ({ fields }: IsoMessage): '64' | '128' =>
  Object.keys(fields).some((field) => Number(field) > 64) ? '128' : '64'

/** Whether a message has the right MAC, or needs none. */
export async function hasRightMac(
  { macs, networkId, profile }: MacParts,
  message: IsoMessage,
  bytes: Uint8Array,
): Promise<boolean> {
  const { layout, mac } = profile
  const keyName = findMacKeyName(profile, message)
  if (!mac || keyName === null) return true
  const given = message.fields[macField(message)]
  if (given === undefined) return false
  const due = Buffer.from(given, 'hex')
  if (due.subarray(mac.length).some((byte) => byte !== 0)) return false
  const signed = bytes.subarray(layout.header ?? 0, bytes.length - lastFieldLength(layout, message))
  return macs.isRight({ networkId, keyName }, signed, due.subarray(0, mac.length))
}

/**
 * Returns the bytes of an outgoing message, with a MAC if its profile requires one.
 * @param keyName the key of the request; null for the default key.
 */
export async function sealed(
  { macs, networkId, profile }: MacParts,
  message: IsoMessage,
  keyName: string | null,
): Promise<Buffer> {
  const { layout, mac } = profile
  if (!mac) return encode(layout, message)
  const field = macField(message)
  const drafted = { ...message, fields: { ...message.fields, [field]: '0'.repeat(16) } }
  const draft = encode(layout, drafted)
  const signed = draft.subarray(layout.header ?? 0, draft.length - lastFieldLength(layout, drafted))
  const key = { networkId, keyName: keyName ?? mac.keyName.replace('{index}', mac.without) }
  const made = await macs.make(key, signed)
  // Without a key, the peer gets nothing that it could accept as authentic.
  if (!made) return draft
  const value = Buffer.alloc(8)
  value.set(made.subarray(0, mac.length))
  const whole = { ...drafted.fields, [field]: value.toString('hex').toUpperCase() }
  return encode(layout, { ...drafted, fields: whole })
}
