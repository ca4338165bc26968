import type { Static } from 'typebox'
import { cardStatuses, isCardStatusCode } from '../../domain/card-status.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import { declineWords, describeDecline, isDeclineReason } from '../../domain/decline-words.ts'
import { type Html, html } from '../../listeners/http/html.ts'
import type * as schemas from '../../listeners/private/schemas/card-authorizations.ts'
import { badge, type Tone } from '../desk-parts.ts'
import { left } from './tries-left.ts'

type Authorization = Static<typeof schemas.RecordedAuthorizationSchema>
type Check = Authorization['checks'][number]

const checkNames: Readonly<Record<Check['check'], string>> = {
  card: 'Card exists',
  postal_code: 'Postal code (decides nothing)',
  address_line: 'Address line (decides nothing)',
  status: 'Status of the card',
  expiry: 'Expiry date',
  plastic: 'Plastic in use',
  transaction_type: 'Type of the transaction',
  currency: 'Currency',
  shadow: 'Shadow controls',
  controls: 'Spending controls',
  chip: 'Chip data',
  cryptogram: 'Cryptogram of the chip',
  card_value: 'Value on the stripe',
  cavv: '3-D Secure value',
  offline_pin: 'PIN in the chip',
  pin_block: 'PIN block can be read',
  pin: 'PIN',
  cvv2: 'CVV',
  limits: 'Spending limits',
  decision: 'Decision of the client',
  answer: 'Answer to the first request',
}

const verdicts: Readonly<Record<Check['result'], readonly [string, Tone]>> = {
  passed: ['Passed', 'good'],
  failed: ['Failed', 'bad'],
  blocked: ['Blocked', 'bad'],
  not_given: ['Not given', 'plain'],
  unresolved: ['No answer', 'warn'],
}

/** The checks in their order, each with the time that it took as a bar under the one before. */
export function checksWaterfall({ checks, declineReason, durationMs }: Authorization): Html {
  const wholeMs = Math.max(1, durationMs, ...checks.map(({ afterMs }) => afterMs))
  const rows = checks.map((check, at) =>
    checkRow(check, { startMs: checks[at - 1]?.afterMs ?? 0, wholeMs, declineReason }),
  )
  return html`<ol class="checks">${rows}</ol>
    <p class="hint">
      The answer took ${durationMs} ms.
      ${declineReason && 'Checks after the first objection did not run, and spent no try.'}
    </p>`
}

interface RowContext {
  readonly declineReason: Authorization['declineReason'] | undefined
  /** When the check before ended. */
  readonly startMs: number
  readonly wholeMs: number
}

function checkRow(check: Check, context: RowContext): Html {
  const [word, tone] = verdicts[check.result]
  const isQuiet = tone === 'good' || tone === 'plain'
  return html`<li class="${tone}">
    <b>${checkNames[check.check]}</b>
    <span>${isQuiet ? html`<span class="fine">${word}</span>` : badge(word, tone)}</span>
    ${timeBar(context.startMs, check.afterMs, context.wholeMs)}
    <span class="number">${check.afterMs - context.startMs} ms</span>
    <p>${describeCheck(check, context).join(' · ')}</p>
  </li>`
}

/** The least width of a bar, in per cent. */
const widthLeast = 1.5

/** Draws when a check ran. The number beside it says how long. */
function timeBar(startMs: number, endMs: number, wholeMs: number): Html {
  const width = Math.max(widthLeast, ((endMs - startMs) / wholeMs) * 100)
  const from = Math.min((startMs / wholeMs) * 100, 100 - width)
  const round = (value: number) => Math.round(value * 10) / 10
  return html`<svg class="span" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8"/>
    <rect class="ran" x="${round(from)}" width="${round(width)}" height="8"/>
  </svg>`
}

const deciderNames: Readonly<Record<NonNullable<Check['decidedBy']>, string>> = {
  endpoint: 'The endpoint of the client decided',
  'fallback:timeout': 'The client did not answer in time',
  'fallback:error': 'The client gave no usable answer',
  'rule:timeout': 'The client did not answer in time: its rule decided',
  'rule:error': 'The client gave no usable answer: its rule decided',
}

const findingNames: Readonly<Record<ChipFinding, string>> = {
  chip_declined: 'the chip itself declined',
  atc_jump: 'the transaction counter jumped',
  cryptogram_replayed: 'the transaction counter was used before or is too old',
  offline_pin_failed: 'the chip rejected a PIN',
  offline_pin_blocked: 'the tries of the PIN in the chip are used up',
  command_failed: 'the chip refused a command',
  data_disagreement: 'the chip data differ from the message, or the track from the card',
  data_missing: 'the message has no chip data',
  key_unknown: 'the key that the chip names does not exist',
  fallback: 'the stripe of a card with a chip was read',
  guessing: 'not compared after too many wrong values',
  wrong_card_value: 'wrong verification value',
  wrong_cavv: 'wrong 3-D Secure value',
}

function describeCheck(check: Check, { declineReason }: RowContext): readonly string[] {
  const { cardStatusCode = '', control, decidedBy, findings = [], owner, reason } = check
  const { remainingTries, responseCode, tryNumber } = check
  return [
    decidedBy !== undefined && deciderNames[decidedBy],
    isDeclineReason(reason) ? declineWords[reason] : reason,
    control !== undefined && `${control} of the ${owner}`,
    isCardStatusCode(cardStatusCode) && `The card was ${cardStatuses[cardStatusCode].description}`,
    ...findings.map((finding) => findingNames[finding]),
    tryNumber !== undefined && `try ${tryNumber}`,
    remainingTries !== undefined && left(remainingTries),
    responseCode !== undefined && `declined: ${describeDecline(responseCode, declineReason)}`,
  ].filter((text): text is string => typeof text === 'string')
}
