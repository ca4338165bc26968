import Type, { type Static } from 'typebox'
import { type Html, html } from '../../listeners/http/html.ts'
import { UnblockedCardSchema } from '../../listeners/private/schemas/cards.ts'
import { cardLink } from '../card-links.ts'
import { badge } from '../desk-parts.ts'
import { leadAfter } from '../done.ts'
import { itemsField, reasonField } from '../fields.ts'
import { parseAnswer } from '../listener-answers.ts'
import { type Column, renderTable } from '../listing.ts'
import { type Act, formFields, type Screen, type Visit } from '../screen.ts'
import { shares } from './shares.ts'

/** The result of an act on many cards. */
export const UnblockedCardsSchema = Type.Array(UnblockedCardSchema)
type UnblockedCard = Static<typeof UnblockedCardSchema>

const screen = {
  path: '/console/unblock',
  access: 'support.write',
  navigation: 'Unblock many',
} as const

const title = 'Unblock many cards'

export const unblockCardsScreen: Screen = {
  ...screen,
  show: async (visit) => ({ title, body: unblockForm(visit) }),
}

const unblockForm = (visit: Visit): Html => {
  const { kind = 'pin' } = visit.kept
  return html`<form method="post" action="${screen.path}" class="stack">
    ${formFields(visit)}
    ${itemsField(visit, screen.path, {
      name: 'publicTokens',
      label: 'Tokens of the cards, one per line, at most 1,000',
      items: parseTokens,
    })}
    <fieldset>
      <legend>Value to unblock</legend>
      ${['pin', 'cvv'].map(
        (each) =>
          html`<label><input type="radio" name="kind" value="${each}"${
            each === kind && html` checked`
          }>${each.toUpperCase()}</label> `,
      )}
    </fieldset>
    ${reasonField(visit, screen.path)}
    <p class="hint">
      Unblocking restores all tries of each card. Each card is a separate act, recorded with this
      reason and your name. Above the limit of your installation, another person must approve the
      request.
    </p>
    <button>Unblock</button>
  </form>`
}

/** Parses tokens between spaces, commas or line feeds, each once. */
const parseTokens = (text: string): string[] => [
  ...new Set(text.split(/[\s,;]+/).filter((token) => token !== '')),
]

export const unblockCardsAct: Act = {
  path: screen.path,
  access: screen.access,
  async perform(visit, form) {
    const answer = await visit.call('POST', '/cards/unblock', {
      publicTokens: parseTokens(form.publicTokens ?? ''),
      kind: form.kind,
      reason: form.reason,
    })
    if (answer.status === 200) {
      return { title, body: results(parseAnswer(answer, UnblockedCardsSchema)) }
    }
    return leadAfter(answer, { to: screen.path })
  },
}

const results = (cards: readonly UnblockedCard[]): Html =>
  html`${unblockedCards(cards)}
    <p><a href="${screen.path}">Unblock others</a></p>`

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
