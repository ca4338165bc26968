import type { Static } from 'typebox'
import { type Html, html } from '../listeners/http/html.ts'
import type { UnblockedCardSchema } from '../listeners/private/schemas/cards.ts'
import { badge } from './desk-parts.ts'
import { path } from './screen.ts'

type UnblockedCard = Static<typeof UnblockedCardSchema>

/** Renders the result of an act on many cards for each of them. */
export const unblockedCards = (cards: readonly UnblockedCard[]): Html =>
  html`<div class="scroll">
    <table>
      <thead><tr>
        <th scope="col">Token</th>
        <th scope="col">Outcome</th>
        <th scope="col">Why</th>
      </tr></thead>
      <tbody>${cards.map(cardRow)}</tbody>
    </table>
  </div>`

const cardRow = ({ code, detail, publicToken, unblocked }: UnblockedCard): Html =>
  html`<tr>
    <th scope="row"><a href="${path`/console/cards/${publicToken}`}">${publicToken}</a></th>
    <td>${unblocked ? badge('Unblocked', 'good') : badge('Refused', 'bad')}</td>
    <td>${detail ?? code}</td>
  </tr>`
