import type { Static } from 'typebox'
import type { Problem } from '../../domain/problem.ts'
import { CardChipSchema } from '../../listeners/http/chip-members.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { badge, instant, type Tone } from '../desk-parts.ts'
import { parseAnswer, parseProblem } from '../listener-answers.ts'
import { path, type Visit } from '../screen.ts'
import { left } from './tries-left.ts'

type CardChip = Static<typeof CardChipSchema>

/** The chip of a card, or why it could not be read. Null: the card has none. */
export type FoundChip = CardChip | Problem | null

/** Reads the chip of a card. A failure is returned, so that the rest of its page is shown. */
export async function findChip(visit: Visit, publicToken: string): Promise<FoundChip> {
  const answer = await visit.call('GET', path`/cards/${publicToken}/chip`)
  if (answer.status === 200) return parseAnswer(answer, CardChipSchema)
  const problem = parseProblem(answer)
  return problem.code === 'card_without_chip' ? null : problem
}

/** The states of the latest change of the PIN. */
const chipUpdates: Readonly<Record<CardChip['chipUpdate'], string | null>> = {
  none: null,
  pending: 'The chip does not have the latest change yet. It needs an online purchase.',
  sent: 'An answer carried the latest change to the chip. Its result is not known yet.',
  done: 'The chip has the latest change.',
  failed: 'The chip refused the latest change.',
  unconfirmed: 'No result of the latest change came. The chip may have it.',
}

/**
 * Describes whether the chip has the latest change of the PIN, and whether its own PIN is blocked.
 * That is the newest chip, which the PIN goes to.
 */
export function describePinInChip(chip: FoundChip): Content {
  if (chip === null || 'code' in chip) return null
  const text = chipUpdates[chip.chipUpdate]
  const { panSequenceNumber, remainingOfflineTries, reportedAt } = chip.chips.at(-1) ?? {}
  return html`
    ${
      remainingOfflineTries === 0 &&
      reportedAt !== undefined &&
      html`<p class="warning">
        The PIN in chip ${panSequenceNumber} was blocked at ${instant(reportedAt)}.
        Unblock PIN restores its tries with the next online purchase.
      </p>`
    }
    ${text !== null && html`<p class="fine">${text}</p>`}`
}

/** Whether the newest chip compares no PIN, which an unblock restores. */
export const isPinInChipBlocked = (chip: FoundChip): boolean =>
  chip !== null && !('code' in chip) && chip.chips.at(-1)?.remainingOfflineTries === 0

/** Others are plain. */
const stateTones: Readonly<Record<string, Tone>> = { done: 'good', failed: 'bad' }

/** The section of the chip on the page of a card. A card without a chip has none. */
export const chipSection = (chip: FoundChip): Content =>
  chip !== null &&
  html`<section aria-labelledby="chip">
    <h2 id="chip">Chip</h2>
    ${'code' in chip ? unreadableChip(chip) : chipParts(chip)}
  </section>`

const unreadableChip = ({ detail, title }: Problem): Content =>
  html`<div class="notice bad" role="alert">
    <p>${title}</p>${detail && html`<p>${detail}</p>`}
  </div>`

/** The most commands that are shown at once. */
const commandsMost = 3

const chipParts = ({ chips, commands }: CardChip): Content =>
  html`
    ${chips.length === 0 && html`<p class="empty">The chip was not online yet.</p>`}
    ${chips.map(
      ({ highestAtc, keyVersion, panSequenceNumber, remainingOfflineTries, reportedAt }) =>
        html`<p>
          Chip ${panSequenceNumber}: highest counter ${highestAtc}, keys of version ${keyVersion}.
          ${
            remainingOfflineTries !== undefined &&
            reportedAt !== undefined &&
            html`Its PIN had ${left(remainingOfflineTries)} at ${instant(reportedAt)}.`
          }
        </p>`,
    )}
    ${
      commands.length > 0 &&
      html`<ul class="plain">${commands.slice(0, commandsMost).map(commandItem)}</ul>`
    }
    ${
      commands.length > commandsMost &&
      html`<details>
        <summary>${commands.length - commandsMost} older commands</summary>
        <ul class="plain">${commands.slice(commandsMost).map(commandItem)}</ul>
      </details>`
    }
    ${commands.length === 0 && html`<p class="empty">No command was queued for the chip.</p>`}`

function commandItem(each: CardChip['commands'][number]): Content {
  const { command, commandNumber, panSequenceNumber, state, tag, ...times } = each
  const [verb, at] =
    times.endedAt !== undefined
      ? ['Ended', times.endedAt]
      : times.sentAt !== undefined
        ? ['Sent', times.sentAt]
        : ['Queued', times.queuedAt]
  const facts = [
    `number ${commandNumber}`,
    panSequenceNumber !== undefined && `chip ${panSequenceNumber}`,
    times.sentCount > 1 && `sent ${times.sentCount} times`,
  ]
  return html`<li>
    <div class="use">
      <span>${command.replaceAll('_', ' ')} ${tag}</span>
      ${badge(state, stateTones[state])}
    </div>
    <p class="fine">${facts.filter(Boolean).join(' · ')} · ${verb.toLowerCase()} ${instant(at)}</p>
  </li>`
}
