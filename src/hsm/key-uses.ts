import type { KeyAction, WorkingKeys } from './working-key.ts'

/** How often a version of a key was used by this process. */
export interface KeyUse {
  readonly keyName: string
  readonly keyVersion: number
  readonly uses: number
}

/** Counts the uses of keys since this process has them. */
export interface UseCounter {
  /** The same key, which counts what it makes: opening and verifying wear no key out. */
  counting<Action extends KeyAction>(
    action: Action,
    version: Pick<KeyUse, 'keyName' | 'keyVersion'>,
    key: WorkingKeys[Action],
  ): WorkingKeys[Action]
  counted(): readonly KeyUse[]
}

export function createUseCounter(): UseCounter {
  const uses = new Map<string, { keyName: string; keyVersion: number; uses: number }>()
  return {
    counting(action, { keyName, keyVersion }, key) {
      const reference = `${keyName}/${keyVersion}`
      const known = uses.get(reference) ?? { keyName, keyVersion, uses: 0 }
      uses.set(reference, known)
      const count = () => {
        known.uses += 1
      }
      return counters[action](key, count)
    },
    counted: () => [...uses.values()].map((each) => ({ ...each })),
  }
}

/** The verbs of each action that put something under the key. */
const counters: {
  readonly [Action in KeyAction]: (
    key: WorkingKeys[Action],
    count: () => void,
  ) => WorkingKeys[Action]
} = {
  blocks: (key, count) => ({ ...key, encipher: after(count, key.encipher) }),
  cvv: (key, count) => ({ ...key, encipherWithA: after(count, key.encipherWithA) }),
  seal: (key, count) => ({ ...key, seal: after(count, key.seal) }),
  mac: (key, count) => ({ ...key, mac: after(count, key.mac) }),
  sign: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  signPss: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  unwrap: (key, count) => ({ ...key, unwrap: after(count, key.unwrap) }),
  agree: (key, count) => ({ ...key, agree: after(count, key.agree) }),
}

const after =
  <Given extends readonly unknown[], Result>(
    count: () => void,
    verb: (...given: Given) => Result,
  ): ((...given: Given) => Result) =>
  (...given) => {
    count()
    return verb(...given)
  }
