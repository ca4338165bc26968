import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import {
  alreadyLoggedIn,
  type Cryptoki,
  findReturnValue,
  type Handle,
  loadCryptoki,
  normalUser,
  pinRefusals,
  sessionFlags,
} from './cryptoki.ts'

/** The location of the keys and the access to them. */
export interface TokenSettings {
  /** The vendor's shared library. */
  readonly module: string
  /** The label is stable, while slot numbers may change at a restart. */
  readonly tokenLabel: string
  /** A file that holds the PIN of the token's normal user, mode 0600. */
  readonly pinFile: string
}

/** The token rejected the PIN. It must not be sent again: a token locks after a few attempts. */
export class PinRefused extends Error {
  constructor(cause: unknown) {
    super('The token refused the PIN.', { cause })
    this.name = 'PinRefused'
  }
}

/** A session with a token, with its normal user logged in. */
export interface TokenSession {
  readonly cryptoki: Cryptoki
  readonly handle: Handle
  /** Replaces this session with a new one, and ends the use of this one. */
  renew(): TokenSession
  /** Unloads the module. */
  end(): void
}

/** @throws Error unless exactly one token has this label; PinRefused. */
export function openTokenSession({ module, pinFile, tokenLabel }: TokenSettings): TokenSession {
  const cryptoki = loadCryptoki(module)
  try {
    const slots = cryptoki
      .C_GetSlotList(true)
      // PKCS#11 pads labels with blanks to 32 bytes.
      .filter((slot) => cryptoki.C_GetTokenInfo(slot).label.trimEnd() === tokenLabel)
    const [slot] = slots
    if (!slot || slots.length > 1) {
      throw new Error(
        `${slots.length} tokens have the label ${tokenLabel}; exactly one must have it.`,
      )
    }
    return openSession(cryptoki, slot, readPinFile(pinFile))
  } catch (error) {
    letGo(cryptoki)
    throw error
  }
}

function openSession(cryptoki: Cryptoki, slot: Handle, pin: string): TokenSession {
  const handle = cryptoki.C_OpenSession(slot, sessionFlags.readWrite | sessionFlags.serial)
  try {
    cryptoki.C_Login(handle, normalUser, pin)
  } catch (error) {
    const returned = findReturnValue(error)
    if (returned !== null && pinRefusals.includes(returned)) throw new PinRefused(error)
    // Without its return value, so that the PIN is not sent again when the token is reopened.
    if (returned !== alreadyLoggedIn) throw new Error('The token did not log in.', { cause: error })
  }
  return {
    cryptoki,
    handle,
    renew() {
      // The login ends with the last session, so the old session is closed first.
      cryptoki.C_CloseSession(handle)
      return openSession(cryptoki, slot, pin)
    },
    end: () => letGo(cryptoki),
  }
}

/** Unloads the module. Its errors are ignored, because they would hide the original fault. */
function letGo(cryptoki: Cryptoki): void {
  try {
    cryptoki.C_Finalize()
  } catch {}
}

/**
 * Reads the PIN of a token: one line, in a file that only its owner can read.
 * @throws Error that names the file, never its content.
 */
function readPinFile(path: string): string {
  const file = openSync(path, 'r')
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new Error(`${path} contains a PIN: make it readable only by its owner (mode 0600).`)
    }
    const line = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (/^[^\p{Cc}]{1,255}$/u.test(line)) return line
    throw new Error(`${path} must contain only the PIN of the token.`)
  } finally {
    closeSync(file)
  }
}
