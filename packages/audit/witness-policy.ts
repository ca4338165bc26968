import { formatHex } from './bytes.ts'
import { parseVerifierKey, signatureTypes, type VerifierKey } from './notes.ts'

/** A witness that cosigns checkpoints. */
export interface Witness {
  /** Its name within the policy. */
  readonly name: string
  readonly key: VerifierKey
  /** The URL for checkpoints, without a trailing slash; null in a policy for verification only. */
  readonly url: string | null
}

/** The required cosignatures of a checkpoint (c2sp.org/tlog-policy). */
export interface WitnessPolicy {
  readonly witnesses: readonly Witness[]
  /** Whether the cosignatures of these witnesses, by their names in the policy, suffice. */
  isQuorum(cosigned: ReadonlySet<string>): boolean
}

/** The policy so far: witnesses and groups share their names. */
interface Read {
  readonly witnesses: Witness[]
  readonly rules: Map<string, (cosigned: ReadonlySet<string>) => boolean>
  readonly members: Set<string>
  readonly keys: Set<string>
  quorum: string | null
}

/** Types of keys for cosignatures (c2sp.org/tlog-cosignature). */
const cosignatureTypes: readonly number[] = [signatureTypes.cosignature, signatureTypes.mlDsa44]

/** @throws Error with the line. */
export function parseWitnessPolicy(text: string): WitnessPolicy {
  const read: Read = {
    witnesses: [],
    rules: new Map([['none', () => true]]),
    members: new Set(['none']),
    keys: new Set(),
    quorum: null,
  }
  if (/[^\t\n\P{Cc}]/u.test(text)) throw new Error('It has characters that a policy must not have.')
  for (const [at, line] of text.split('\n').entries()) {
    try {
      readLine(read, line)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new Error(`Line ${at + 1} ${why}.`, { cause })
    }
  }
  const isQuorum = read.rules.get(read.quorum ?? '')
  if (!isQuorum) throw new Error('It has no quorum.')
  return { witnesses: read.witnesses, isQuorum }
}

function readLine(read: Read, line: string): void {
  const [keyword, ...words] = line.split(/[ \t]+/).filter((word) => word !== '')
  if (keyword === undefined || keyword.startsWith('#')) return
  const add = Object.hasOwn(lines, keyword) ? lines[keyword] : undefined
  if (!add) throw new Error('begins with an unknown word')
  add(read, words)
}

const lines: Readonly<Record<string, (read: Read, words: readonly string[]) => void>> = {
  log(read, [vkey = '', url, ...more]) {
    if (more.length > 0) throw new Error('has too many words')
    addKey(read, vkey, 'log')
    if (url !== undefined) parseUrl(url)
  },
  witness(read, [name = '', vkey = '', url, ...more]) {
    if (more.length > 0) throw new Error('has too many words')
    define(read, name, (cosigned) => cosigned.has(name))
    const key = addKey(read, vkey, 'witness')
    if (!cosignatureTypes.includes(key.type)) throw new Error('names a key without cosignatures')
    read.witnesses.push({ name, key, url: url === undefined ? null : parseUrl(url) })
  },
  group(read, [name = '', threshold = '', ...members]) {
    const rules = members.map((member) => {
      const rule = read.rules.get(member)
      // Each is in one group only, so that a witness counts once.
      if (!rule || read.members.has(member)) throw new Error(`cannot have ${member} in its group`)
      read.members.add(member)
      return rule
    })
    const words: Readonly<Record<string, number>> = { all: rules.length, any: 1 }
    const least = words[threshold] ?? (/^[1-9][0-9]{0,8}$/.test(threshold) ? Number(threshold) : 0)
    if (least < 1 || least > rules.length) throw new Error('has no threshold of its members')
    define(read, name, (cosigned) => rules.filter((rule) => rule(cosigned)).length >= least)
  },
  quorum(read, [name = '', ...more]) {
    if (more.length > 0 || read.quorum !== null) throw new Error('is a second quorum')
    if (!read.rules.has(name)) throw new Error(`names ${name}, which is not defined before it`)
    read.quorum = name
  },
}

function define(read: Read, name: string, rule: (cosigned: ReadonlySet<string>) => boolean): void {
  if (name === '' || read.rules.has(name)) throw new Error('defines no new name')
  read.rules.set(name, rule)
}

/** Each key of logs and witnesses is listed once, under any name. */
function addKey(read: Read, vkey: string, kind: string): VerifierKey {
  const key = parseVerifierKey(vkey)
  const identity = `${kind} ${formatHex(key.publicKey)}`
  if (read.keys.has(identity)) throw new Error('repeats a key')
  read.keys.add(identity)
  return key
}

function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new Error('has no http or https URL')
  }
  return text.replace(/\/+$/, '')
}
