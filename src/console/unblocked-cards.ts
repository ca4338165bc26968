import type { Static } from 'typebox'
import { type Html, html } from '../listeners/http/html.ts'
import type { UnblockedCardSchema } from '../listeners/private/schemas/cards.ts'
import { cardLink } from './card-links.ts'
import { badge } from './desk-parts.ts'
import { type Column, renderTable } from './listing.ts'
import { shares } from './screens/shares.ts'

type UnblockedCard = Static<typeof UnblockedCardSchema>

/** Renders the result of an act on many cards: its shares, then each card, refused ones first. */
export function unblockedCards(cards: readonly UnblockedCard[]): Html {
  const refused = cards.filter(({ unblocked }) => !unblocked)
  const done = cards.filter(({ unblocked }) => unblocked)
  return html`<div role="status">
      <p><b>${done.length} of ${cards.length} cards are unblocked.</b>${
        refused.length > 0 && html` ${refused.length} refused: see why below.`
      }</p>
      ${shares([
        { count: done.length, tone: 'good' },
        { count: refused.length, tone: 'bad' },
      ])}
    </div>
    ${renderTable({
      name: 'Result for each card',
      columns,
      rows: [...refused, ...done],
      empty: 'No cards.',
      isOneLine: true,
    })}`
}

const columns: readonly Column<UnblockedCard>[] = [
  {
    title: 'Card',
    kind: 'name',
    cell: ({ publicToken }) => cardLink(publicToken),
  },
  {
    title: 'Outcome',
    cell: ({ unblocked }) => (unblocked ? badge('Unblocked', 'good') : badge('Refused', 'bad')),
  },
  { title: 'Why', cell: ({ code, detail }) => detail ?? code },
]
