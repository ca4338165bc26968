import { randomBytes } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { type UnwrappedKeyBlock, unwrapKeyBlock, wrapKeyBlock } from '../../crypto/key-block.ts'
import type { KeyBlockHeader } from '../../crypto/key-block-header.ts'
import { aesKeyCheckValue } from '../../crypto/key-check-value.ts'
import { refuse } from '../../crypto/refusal.ts'
import { Secret } from '../../domain/secret.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { refuseWeakerProtection, refuseWeakKey } from '../keys/key-strength.ts'

/**
 * The available master keys: the current one, which wraps key blocks, and former or next ones that
 * may still wrap some.
 */
export interface MasterKeys {
  /** The check value of the current master key. */
  currentCheckValue(): string
  /** The check values of all available master keys, in the order of their file. */
  checkValues(): readonly string[]
  /** @throws KeyRefusal if the key is weak, or stronger than the master key. */
  wrap(header: KeyBlockHeader, key: Uint8Array, checkValue?: string): string
  /**
   * Unwraps a block that is under any of them.
   * @throws CryptoRefusal if it is under none.
   */
  unwrap(keyBlock: string): UnwrappedKeyBlock
  /** Determines the current master key, and reads the file again if the key is missing. */
  refresh(): Promise<void>
  /**
   * Reads the file again.
   * @throws KeyRefusal if the file lacks the current key; the known keys then stay.
   */
  reread(): Promise<void>
}

/** The source of master keys, and the one that the installation uses. */
interface MasterKeySource {
  read(): Promise<readonly SecretKey[]>
  /** The check value of the current master key. */
  current(): Promise<string>
}

/**
 * Computes the check value of a master key: AES-CMAC of zeros, five bytes in hex (X9.143, annex C).
 */
export const masterKeyCheckValue = (masterKey: SecretKey): string =>
  aesKeyCheckValue(masterKey.reveal()).toString('hex').toUpperCase()

/** @throws KeyRefusal if the source lacks the current master key. */
export async function openMasterKeys(source: MasterKeySource): Promise<MasterKeys> {
  let keys = new Map<string, SecretKey>()
  let current = ''
  // A file without the current key does not replace the keys that work.
  const readWith = async (due: string) => {
    const read = await source.read()
    for (const key of read) refuseWeakKey('A', key.reveal())
    const present = new Map(read.map((key) => [masterKeyCheckValue(key), key]))
    if (!present.has(due)) {
      throw new KeyRefusal(
        `The database uses the master key with check value ${due}; the given keys have ` +
          `${[...present.keys()].join(', ')}.`,
      )
    }
    keys = present
  }
  const refresh = async () => {
    const due = await source.current()
    if (!keys.has(due)) await readWith(due)
    current = due
  }
  await refresh()
  return {
    currentCheckValue: () => current,
    checkValues: () => [...keys.keys()],
    wrap: (header, key, checkValue = current) => wrapUnder(keys.get(checkValue), header, key),
    // Tries the current key first: except during a rotation, all blocks are under it.
    unwrap: (keyBlock) =>
      unwrapUnder(
        [current, ...keys.keys()].flatMap((value) => keys.get(value) ?? []),
        keyBlock,
      ),
    refresh,
    reread: () => readWith(current),
  }
}

/** Provides one master key that never changes. */
function soleMasterKey(masterKey: SecretKey): MasterKeys {
  const checkValue = masterKeyCheckValue(masterKey)
  return {
    currentCheckValue: () => checkValue,
    checkValues: () => [checkValue],
    wrap: (header, key) => wrapUnder(masterKey, header, key),
    unwrap: (keyBlock) => unwrapUnder([masterKey], keyBlock),
    refresh: async () => {},
    reread: async () => {},
  }
}

export const toMasterKeys = (given: SecretKey | MasterKeys): MasterKeys =>
  given instanceof SecretKey ? soleMasterKey(given) : given

function wrapUnder(
  masterKey: SecretKey | undefined,
  header: KeyBlockHeader,
  key: Uint8Array,
): string {
  if (!masterKey) throw new Error('The master key is not available.')
  const kbpk = masterKey.reveal()
  refuseWeakerProtection(
    { algorithm: 'A', lengthBytes: kbpk.length },
    { algorithm: header.algorithm, lengthBytes: key.length },
  )
  return wrapKeyBlock(kbpk, header, key)
}

function unwrapUnder(masterKeys: readonly SecretKey[], keyBlock: string): UnwrappedKeyBlock {
  const [first, ...others] = masterKeys
  if (!first) return refuse('key_block_refused')
  try {
    return unwrapKeyBlock(first.reveal(), keyBlock)
  } catch (error) {
    if (others.length === 0) throw error
    return unwrapUnder(others, keyBlock)
  }
}

/** The maximum number of master keys in a file: the current one, and those of a rotation. */
const keysMax = 4

/**
 * Reads the master keys of a file, one per line: 64 hexadecimal digits each. The database states
 * which one is current. Before a rotation, add the new key to the file; afterwards, remove the old
 * one.
 * @throws KeyRefusal that names the file, never its content.
 */
export async function readMasterKeys(file: string): Promise<readonly SecretKey[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new KeyRefusal(`${file} cannot be read: ${findErrorCode(cause)}.`, { cause })
  })
  const lines = text.trim().split(/\s*\n\s*/)
  if (lines.length > keysMax || !lines.every((line) => /^[0-9a-f]{64}$/i.test(line))) {
    throw new KeyRefusal(
      `${file} must contain one to ${keysMax} master keys, one per line, of 64 hexadecimal digits.`,
    )
  }
  return lines.map((line) => new SecretKey(Buffer.from(line, 'hex')))
}

/** Reads master keys, or first creates the file, readable only by its owner. For the sandbox. */
export async function readOrMakeMasterKeys(file: string): Promise<readonly SecretKey[]> {
  try {
    return await readMasterKeys(file)
  } catch (error) {
    if (!(error instanceof KeyRefusal) || findErrorCode(error.cause) !== 'ENOENT') throw error
    await writeNewFile(file, `${randomBytes(32).toString('hex')}\n`)
    return readMasterKeys(file)
  }
}

const findErrorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/**
 * Writes the file durably before data is encrypted under the key, and completely or not at all,
 * however this process ends. Of several concurrent writers, the first wins.
 */
async function writeNewFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
    await link(draft, file)
  } catch (error) {
    if (findErrorCode(error) !== 'EEXIST') throw error
  } finally {
    await handle.close()
    await unlink(draft)
  }
}

/** The bytes of a key. It prints as its mask; only the primitives call `reveal()`. */
export class SecretKey extends Secret<Uint8Array> {
  constructor(bytes: Uint8Array) {
    super(bytes, '[key]')
  }
}
