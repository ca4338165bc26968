/** An export folder as the command line writes it, made in memory of the domain's own functions. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkpointText } from '../../packages/audit/checkpoints.ts'
import { composeNote, signatureTypes, verifierKeyText } from '../../packages/audit/notes.ts'
import {
  appendHashes,
  consistencyProof,
  entryBundle,
  inclusionProof,
  readRoot,
  tilePath,
  tileWidth,
} from '../../packages/audit/tiles.ts'
import { computeCommitment, encodeEntry, leafHash } from '../../packages/audit/tree.ts'
import type { AuditEntry } from '../../src/domain/audit-entry.ts'
import { commitEntries } from '../../src/operations/audit-log/commit-entries.ts'

import type { NewEntry } from '../../src/storage/audit-log/entries.ts'

/** A log's key, and what it is verified by. */
export type LogKey = {
  readonly origin: string
  readonly privateKey: KeyObject
  readonly text: string
}

export function makeLogKey(origin: string): LogKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const text = verifierKeyText(origin, signatureTypes.ed25519, exportRaw(publicKey))
  return { origin, privateKey, text }
}

const exportRaw = (key: KeyObject): Uint8Array =>
  new Uint8Array(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'))

/** Signs a checkpoint as the log does. */
export function signNote(
  { origin, privateKey, text: key }: LogKey,
  size: number,
  root: Uint8Array,
) {
  const text = checkpointText({ origin, size, root })
  const [, id = ''] = key.split('+')
  return composeNote(text, [
    { name: origin, id, signature: sign(null, Buffer.from(text), privateKey) },
  ])
}

/** What an exported log is made of. */
export type Exported = {
  readonly files: Map<string, Uint8Array>
  readonly note: string
  readonly root: Uint8Array
  readonly size: number
  /** The root of the tree that it began with. */
  rootAt(size: number): Promise<Uint8Array>
  proofFrom(oldSize: number, size: number): Promise<Uint8Array[]>
  inclusionProof(index: number): Promise<Uint8Array[]>
}

/** Exports a log. @param erased entries whose text is gone */
export const exportLog = (
  key: LogKey,
  entries: readonly AuditEntry[],
  erased: ReadonlySet<number> = new Set(),
): Promise<Exported> => exportRows(key, commitEntries(entries), erased)

/**
 * Exports a log whose entries say just these texts, as a hand in the database could have entered
 * them.
 */
export const exportTexts = (key: LogKey, texts: readonly string[]): Promise<Exported> =>
  exportRows(
    key,
    texts.map((text) => {
      const salt = randomBytes(32)
      return { salt, text, commitment: computeCommitment(salt, text) }
    }),
  )

async function exportRows(
  key: LogKey,
  rows: readonly Pick<NewEntry, 'commitment' | 'salt' | 'text'>[],
  erased: ReadonlySet<number> = new Set(),
): Promise<Exported> {
  const leaves = rows.map(({ commitment }) => encodeEntry(commitment))
  const files = new Map<string, Uint8Array>()
  const tiles = new Map(
    appendHashes(0, [], leaves.map(leafHash)).map((tile) => [`${tile.level}/${tile.index}`, tile]),
  )
  for (const { hashes, index, level } of tiles.values()) {
    files.set(tilePath(level, index, hashes.length / 32), hashes)
  }
  for (let index = 0; index * tileWidth < rows.length; index++) {
    const [from, to] = [index * tileWidth, (index + 1) * tileWidth]
    const bundle = leaves.slice(from, to)
    files.set(tilePath('entries', index, bundle.length), entryBundle(bundle))
    const lines = rows
      .slice(from, to)
      .map(({ salt, text }, at) =>
        erased.has(from + at)
          ? { index: from + at, erased: true }
          : { index: from + at, salt: Buffer.from(salt ?? []).toString('base64'), text },
      )
    const openings = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    files.set(`openings/${index}.jsonl`, Buffer.from(openings))
  }
  const read = async (level: number, index: number): Promise<Uint8Array> =>
    tiles.get(`${level}/${index}`)?.hashes ?? new Uint8Array()
  const root = await readRoot(rows.length, read)
  const note = signNote(key, rows.length, root)
  files.set('checkpoint', Buffer.from(note))
  files.set('keys', Buffer.from(`${key.text}\n`))
  return {
    files,
    note,
    root,
    size: rows.length,
    rootAt: (size) => readRoot(size, read),
    proofFrom: (oldSize, size) => consistencyProof(oldSize, size, read),
    inclusionProof: (index) => inclusionProof(index, rows.length, read),
  }
}

/** Reads the files of an export, as the verifier asks for them. */
export const createReader =
  (files: ReadonlyMap<string, Uint8Array>) =>
  async (path: string): Promise<Uint8Array<ArrayBuffer> | null> => {
    const bytes = files.get(path)
    return bytes ? new Uint8Array(bytes) : null
  }

/** Writes the files of an export to a folder. */
export async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), bytes)
  }
}

/**
 * So many entries: of five cards that are used in turn, and every tenth an act of administration,
 * all numbered without gaps.
 */
export function numberedEntries(count: number): AuditEntry[] {
  const sequences = [0, 0, 0, 0, 0]
  let number = 0
  return Array.from({ length: count }, (_, at): AuditEntry => {
    const entry = `01900000-0000-7000-8000-${String(at).padStart(12, '0')}`
    const time = new Date(1_700_000_000_000 + at).toISOString().replace('Z', '000Z')
    if (at % 10 === 9) {
      number += 1
      const on = { act: 'product.changed', subject: '1001', number }
      return { entry, at: time, ...on, outcome: 'done' }
    }
    const card = at % 5
    sequences[card] = (sequences[card] ?? 0) + 1
    const on = { card: `card-${card}`, sequence: sequences[card] }
    return { entry, at: time, act: 'pin.revealed', client: 'acme', ...on, outcome: 'done' }
  })
}

/** An entry that asks for an erasure, and one that names what is erased of a log. */
export function erasureEntries(
  origin: string,
  ranges: readonly (readonly [from: number, to: number])[],
): [requested: AuditEntry, erased: AuditEntry] {
  const at = '2026-11-22T00:00:00.000000Z'
  const [erasure, by] = ['01900000-0000-7000-9000-000000000001', 'admin-1']
  const reason = 'The cardholder asked for it.'
  return [
    {
      entry: '01900000-0000-7000-9000-000000000002',
      at,
      act: 'erasure.requested',
      client: by,
      subject: erasure,
      outcome: 'done',
      details: { of: 'card', reason },
    },
    {
      entry: '01900000-0000-7000-9000-000000000003',
      at,
      act: 'entries.erased',
      subject: origin,
      outcome: 'done',
      details: { erasure, of: 'card', requestedBy: by, reason, ranges },
    },
  ]
}
