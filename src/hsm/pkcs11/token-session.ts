import { alreadyLoggedIn, normalUser, pinRefusals, sessionFlags } from './constants.ts'
import { type Cryptoki, type Handle, loadCryptoki, returnValueOf } from './cryptoki.ts'
import { readPinFile } from './pin-file.ts'

/** Where the keys are, and how to come to them. */
export interface TokenSettings {
  /** The vendor's shared library. */
  readonly module: string
  /** Slots change their numbers from start to start; a label stays. */
  readonly tokenLabel: string
  /** A file that holds the PIN of the token's normal user, mode 0600. */
  readonly pinFile: string
}

/** The token did not take the PIN. It must not be tried again: a token locks itself after a few. */
export class PinRefused extends Error {
  constructor(cause: unknown) {
    super('The token refused the PIN.', { cause })
    this.name = 'PinRefused'
  }
}

/** A session with a token, in which its normal user is logged in. */
export interface TokenSession {
  readonly cryptoki: Cryptoki
  readonly handle: Handle
  /** A new session in this one's place. This one must not be used any more. */
  renew(): TokenSession
  /** Lets go of the module. */
  end(): void
}

/** @throws Error when there is not exactly one token of this label; PinRefused. */
export function openTokenSession(settings: TokenSettings): TokenSession {
  const cryptoki = loadCryptoki(settings.module)
  const slot = findToken(cryptoki, settings.tokenLabel)
  return openSession(cryptoki, slot, readPinFile(settings.pinFile))
}

function findToken(cryptoki: Cryptoki, label: string): Handle {
  const slots = cryptoki
    .C_GetSlotList(true)
    // PKCS#11 pads labels with blanks to 32 bytes.
    .filter((slot) => cryptoki.C_GetTokenInfo(slot).label.trimEnd() === label)
  const [slot] = slots
  if (slot && slots.length === 1) return slot
  throw new Error(`${slots.length} tokens have the label ${label}; there must be one.`)
}

function openSession(cryptoki: Cryptoki, slot: Handle, pin: string): TokenSession {
  const handle = cryptoki.C_OpenSession(slot, sessionFlags.readWrite | sessionFlags.serial)
  logIn(cryptoki, handle, pin)
  return {
    cryptoki,
    handle,
    renew() {
      // The last session takes the login with it, so the old one goes first.
      cryptoki.C_CloseSession(handle)
      return openSession(cryptoki, slot, pin)
    },
    end: () => cryptoki.C_Finalize(),
  }
}

function logIn(cryptoki: Cryptoki, handle: Handle, pin: string): void {
  try {
    cryptoki.C_Login(handle, normalUser, pin)
  } catch (error) {
    const returned = returnValueOf(error)
    if (returned === alreadyLoggedIn) return
    throw returned !== null && pinRefusals.includes(returned) ? new PinRefused(error) : error
  }
}
