import { formatHex, isSame } from '../../packages/audit/bytes.ts'
import { checkGrowth, type Growth } from '../../packages/audit/monitor.ts'
import {
  parseVerifierKeys,
  type SignedCheckpoint,
  type VerifierKey,
} from '../../packages/audit/notes.ts'
import { verifyReceipt } from '../../packages/audit/receipt.ts'
import { leafHash, verifyInclusion } from '../../packages/audit/tree.ts'
import { byId, onSubmit, readMeta, say } from '../elements.ts'
import { entryAt, listSiblings, rootAt } from './tree-reader.ts'

/** The interval between checks for growth. */
const lookMs = 2_000

/**
 * The log's keys from the service; fetched again when they do not verify, since they change from
 * time to time.
 */
let logKeys: readonly VerifierKey[] | null = null
/** The viewer's own keys of witnesses: from the service they would prove nothing. */
let witnessKeys: readonly VerifierKey[] = []
let newest: Growth | null = null
let shownNote: string | null = null
/** Once a tree does not extend the previous one, the page shows only that. */
let isBroken = false

/** Returns the bytes at a URL; null without any. */
async function fetched(path: string): Promise<Uint8Array | null> {
  const answer = await fetch(path, { credentials: 'omit' })
  if (answer.status === 404) return null
  if (answer.ok) return new Uint8Array(await answer.arrayBuffer())
  throw new Error(`The service answered ${answer.status}.`)
}

const read = (path: string): Promise<Uint8Array | null> => fetched(`/audit/${path}`)

const fetchedKeys = async (): Promise<VerifierKey[]> =>
  parseVerifierKeys(new TextDecoder().decode((await fetched(readMeta('keys'))) ?? new Uint8Array()))

const describeReason = (error: unknown): string =>
  error instanceof Error ? error.message : 'It could not be verified.'

const describeSigners = (signatures: SignedCheckpoint['signedBy']): string =>
  signatures
    .map(
      ({ at, name, type }) =>
        `${name} (${type === 6 ? 'ML-DSA-44' : 'Ed25519'}${at ? `, ${at.toISOString()}` : ''})`,
    )
    .join('; ')

function showCheckpoint({ cosignedBy, origin, root, signedBy, size, unknownBy }: SignedCheckpoint) {
  const others = unknownBy.map((name) => `${name} (not verified: its key is missing)`)
  const witnesses = [...(cosignedBy.length > 0 ? [describeSigners(cosignedBy)] : []), ...others]
  const rows = [
    ['log', origin],
    ['entries', String(size)],
    ['root', formatHex(root)],
    ['signed by', describeSigners(signedBy)],
    ['witnesses', witnesses.join('; ') || 'none'],
  ]
  byId('checkpoint', HTMLDListElement).replaceChildren(
    ...rows.flatMap(([name = '', value = '']) => {
      const term = document.createElement('dt')
      const description = document.createElement('dd')
      term.textContent = name
      description.textContent = value
      return [term, description]
    }),
  )
}

async function look(): Promise<void> {
  const said = byId('checkpoint-said', HTMLElement)
  if (isBroken) return
  try {
    logKeys ??= await fetchedKeys()
    const growth = await checkGrowth(read, [...logKeys, ...witnessKeys], newest?.note ?? null)
    const { checkpoint, findings, note } = growth
    const [finding] = findings
    const hasGrown = checkpoint.size !== newest?.checkpoint.size
    isBroken = finding !== undefined
    if (note !== shownNote) showCheckpoint(checkpoint)
    shownNote = note
    if (isBroken || hasGrown) addGrowth(checkpoint, finding ? 'NO' : newest ? 'yes' : firstSeen)
    if (finding) throw new Error(`${finding.code}: ${finding.detail}.`)
    if (hasGrown && !isSame(await rootAt(read, checkpoint.size), checkpoint.root)) {
      throw new Error('The root of the tiles differs from the signed root.')
    }
    newest = growth
    if (!said.classList.contains('good')) {
      say(said, 'Verified: the checkpoint is signed, and the tiles have its root.', 'good')
    }
  } catch (error) {
    logKeys = null
    say(said, describeReason(error), 'bad')
  }
}

const firstSeen = 'first checkpoint'

function addGrowth({ root, size }: SignedCheckpoint, words: string): void {
  const row = document.createElement('tr')
  for (const text of [
    new Date().toISOString().slice(11, 19),
    String(size),
    formatHex(root),
    words,
  ]) {
    const cell = document.createElement('td')
    cell.textContent = text
    row.append(cell)
  }
  byId('growth', HTMLTableSectionElement).prepend(row)
}

function showWay(hashes: readonly { readonly label: string; readonly hash: Uint8Array }[]): void {
  byId('path', HTMLOListElement).replaceChildren(
    ...hashes.map(({ hash, label }) => {
      const item = document.createElement('li')
      const value = document.createElement('span')
      value.className = 'hash'
      value.textContent = formatHex(hash)
      item.append(`${label} `, value)
      return item
    }),
  )
}

onSubmit('witness-form', async () => {
  const said = byId('witness-said', HTMLElement)
  try {
    const keys = parseVerifierKeys(byId('witness-keys', HTMLTextAreaElement).value)
    if (keys.length === 0) throw new Error('The text has no verifier key.')
    witnessKeys = keys
    // Its cosignatures are shown again.
    shownNote = null
    await look()
    say(said, `Required: ${keys.map(({ name }) => name).join(', ')}.`, 'good')
  } catch (error) {
    say(said, describeReason(error), 'bad')
  }
})

onSubmit('entry-form', async () => {
  const said = byId('entry-said', HTMLElement)
  showWay([])
  try {
    const index = Number(byId('entry-index', HTMLInputElement).value)
    if (!newest) throw new Error('The log has no checkpoint yet.')
    const { root, size } = newest.checkpoint
    if (!(index < size)) throw new Error(`The newest entry is ${size - 1}, the first one 0.`)
    const leaf = leafHash(await entryAt(read, index, size))
    const siblings = await listSiblings(read, index, size)
    const ends = [{ label: 'the signed root', hash: root }]
    showWay([{ label: 'its leaf', hash: leaf }, ...siblings, ...ends])
    const proof = siblings.map(({ hash }) => hash)
    if (!verifyInclusion({ index, size, root, leafHash: leaf, proof })) {
      throw new Error('The proof leads to another root.')
    }
    say(said, `Verified: entry ${index} is in the signed tree.`, 'good')
  } catch (error) {
    say(said, describeReason(error), 'bad')
  }
})

onSubmit('receipt-form', async () => {
  const said = byId('receipt-said', HTMLElement)
  const shown = byId('receipt-text', HTMLPreElement)
  shown.textContent = ''
  try {
    const receipt = await verifyReceipt(byId('receipt', HTMLTextAreaElement).value, [
      ...(logKeys ?? (await fetchedKeys())),
      ...witnessKeys,
    ])
    shown.textContent = JSON.stringify(receipt.entry, null, 2)
    say(
      said,
      `Verified: the receipt is for entry ${receipt.index} of ${receipt.checkpoint.origin}.`,
      'good',
    )
  } catch (error) {
    say(said, `Not verified: ${describeReason(error)}`, 'bad')
  }
})

/** Verifies the receipt after the `#`, which a link hands over: no browser sends that part. */
function verifyHanded(): void {
  const handed = new URLSearchParams(location.hash.slice(1)).get('receipt')
  if (handed === null) return
  history.replaceState(null, '', location.pathname)
  byId('receipt', HTMLTextAreaElement).value = handed
  byId('receipt-form', HTMLFormElement).requestSubmit()
  byId('receipt-title', HTMLElement).scrollIntoView()
}

async function lookAgain(): Promise<void> {
  await look()
  setTimeout(lookAgain, lookMs)
}

await lookAgain()
verifyHanded()
document.documentElement.dataset.ready = 'true'
