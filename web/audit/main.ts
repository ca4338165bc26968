import {
  openCheckpoint,
  parseVerifierKeys,
  type SignedCheckpoint,
  type VerifierKey,
} from '../../sdk/audit/notes.ts'
import { verifyReceipt } from '../../sdk/audit/receipt.ts'
import { type Bytes, isSame, leafHash } from '../../sdk/audit/tree.ts'
import { byId, metaOf, onSubmit, say } from '../demo/elements.ts'
import { entryAt, type LogReader, pathTo, rootAt } from './tree-reader.ts'

/** How often it is looked whether the log has grown. */
const lookMs = 2_000

let keys: readonly VerifierKey[] = []
let newest: SignedCheckpoint | null = null

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

async function fetched(path: string): Promise<Response> {
  const answer = await fetch(path, { credentials: 'omit' })
  if (answer.ok) return answer
  throw new Error(
    answer.status === 404 ? 'It is not there.' : `The service answered ${answer.status}.`,
  )
}

const log: LogReader = {
  read: async (path) => new Uint8Array(await (await fetched(`/audit/${path}`)).arrayBuffer()),
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'It could not be verified.'

const namesOf = (signatures: SignedCheckpoint['signedBy']): string =>
  signatures
    .map(
      ({ at, name, type }) =>
        `${name} (${type === 6 ? 'ML-DSA-44' : 'Ed25519'}${at ? `, ${at.toISOString()}` : ''})`,
    )
    .join('; ')

function showCheckpoint({ cosignedBy, origin, root, signedBy, size }: SignedCheckpoint): void {
  const rows = [
    ['log', origin],
    ['entries', String(size)],
    ['root', hexOf(root)],
    ['signed by', namesOf(signedBy)],
    ['witnesses', namesOf(cosignedBy) || 'none that this page has the key of'],
  ]
  byId('checkpoint', HTMLDListElement).replaceChildren(
    ...rows.flatMap(([name = '', value = '']) => {
      const [term, description] = [document.createElement('dt'), document.createElement('dd')]
      term.textContent = name
      description.textContent = value
      return [term, description]
    }),
  )
}

/** Whether the tree that is signed now began as the one before it: by the roots of both, from the tiles of now. */
const continues = async (before: SignedCheckpoint, now: SignedCheckpoint): Promise<boolean> =>
  before.origin === now.origin &&
  before.size <= now.size &&
  isSame(await rootAt(log, before.size, now.size), before.root)

async function look(): Promise<void> {
  const said = byId('checkpoint-said', HTMLElement)
  try {
    // Keys change now and then: what is signed by a new one is asked for with it.
    if (newest === null)
      keys = await parseVerifierKeys(await (await fetched(metaOf('keys'))).text())
    const checkpoint = await openCheckpoint(await (await fetched('/audit/checkpoint')).text(), keys)
    if (newest && checkpoint.size === newest.size && isSame(checkpoint.root, newest.root)) return
    const isWhole = isSame(await rootAt(log, checkpoint.size, checkpoint.size), checkpoint.root)
    if (!isWhole) throw new Error('The tiles do not have the root that was signed.')
    const isContinued = newest ? await continues(newest, checkpoint) : null
    showCheckpoint(checkpoint)
    addGrowth(checkpoint, isContinued)
    newest = checkpoint
    if (isContinued === false) throw new Error('This tree does not begin as the one before it.')
    say(said, 'Verified: it is signed, and the tiles have this root.', 'good')
  } catch (error) {
    say(said, reasonOf(error), 'bad')
  }
}

function addGrowth({ root, size }: SignedCheckpoint, isContinued: boolean | null): void {
  const row = document.createElement('tr')
  const words = isContinued === null ? 'the first that was seen' : isContinued ? 'yes' : 'NO'
  for (const text of [new Date().toISOString().slice(11, 19), String(size), hexOf(root), words]) {
    const cell = document.createElement('td')
    cell.textContent = text
    row.append(cell)
  }
  byId('growth', HTMLTableSectionElement).prepend(row)
}

function showPath(hashes: readonly { readonly label: string; readonly hash: Bytes }[]): void {
  byId('path', HTMLOListElement).replaceChildren(
    ...hashes.map(({ hash, label }) => {
      const item = document.createElement('li')
      const value = document.createElement('span')
      value.className = 'hash'
      value.textContent = hexOf(hash)
      item.append(`${label} `, value)
      return item
    }),
  )
}

onSubmit('entry-form', async () => {
  const said = byId('entry-said', HTMLElement)
  showPath([])
  try {
    const index = Number(byId('entry-index', HTMLInputElement).value)
    if (!newest) throw new Error('There is no checkpoint yet.')
    if (!(index < newest.size)) throw new Error(`The log has ${newest.size} entries, from 0 on.`)
    const leaf = await leafHash(await entryAt(log, index, newest.size))
    const path = await pathTo(log, { index, size: newest.size, leaf })
    showPath(path.steps)
    if (!isSame(path.root, newest.root)) throw new Error('Its way leads to another root.')
    say(said, `Verified: entry ${index} is in the tree that was signed.`, 'good')
  } catch (error) {
    say(said, reasonOf(error), 'bad')
  }
})

onSubmit('receipt-form', async () => {
  const said = byId('receipt-said', HTMLElement)
  const shown = byId('receipt-text', HTMLPreElement)
  shown.textContent = ''
  try {
    const receipt = await verifyReceipt(byId('receipt', HTMLTextAreaElement).value, keys)
    shown.textContent = JSON.stringify(receipt.entry, null, 2)
    say(said, `Verified: it is entry ${receipt.index} of ${receipt.checkpoint.origin}.`, 'good')
  } catch (error) {
    say(said, reasonOf(error), 'bad')
  }
})

await look()
document.documentElement.dataset.ready = 'true'
setInterval(look, lookMs)
