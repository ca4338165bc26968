import Type, { type Static } from 'typebox'
import { describeDecline, isDeclineReason } from '../../domain/decline-words.ts'
import { parseMoney } from '../../domain/money.ts'
import { validationFailed } from '../../domain/problem.ts'
import { html } from '../../listeners/http/html.ts'
import { RecordedAuthorizationSchema } from '../../listeners/private/schemas/card-authorizations.ts'
import { CardSpendingSchema } from '../../listeners/private/schemas/limits.ts'
import { cardPath } from '../card-links.ts'
import { instant } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { field, option, readKept, toInstant } from '../fields.ts'
import { parseAnswer } from '../listener-answers.ts'
import { type Act, formFields, type Page, path, type Screen, type Visit } from '../screen.ts'
import { left } from './tries-left.ts'

const ClockSchema = Type.Object({ now: Type.String() })

const entryModes = [
  ['chip', 'Chip'],
  ['contactless', 'Contactless'],
  ['magstripe', 'Magnetic stripe'],
  ['atm', 'ATM'],
  ['ecommerce', 'On the internet'],
  ['moto', 'By mail or telephone'],
] as const

/** Tools of a sandbox: a terminal for any card, and a clock that can be moved. */
export const sandboxScreen: Screen = {
  path: '/console/sandbox',
  access: 'admin',
  navigation: 'Sandbox',
  show: sandboxPage,
}

const terminalAction = '/console/sandbox/authorizations'
const clockAction = '/console/sandbox/clock'

async function sandboxPage(visit: Visit): Promise<Page> {
  const { now } = await visit.read('/sandbox/clock', ClockSchema)
  return {
    title: 'Sandbox',
    body: html`<div class="columns">
        <section aria-labelledby="terminal">
          <h2 id="terminal">Terminal</h2>
          <form method="post" action="${terminalAction}" class="stack">
            ${formFields(visit)}
            <div class="pairs">
              <div>${field(visit, terminalAction, {
                name: 'publicToken',
                label: 'Token of a card',
                maxLength: 32,
                value: visit.query.card ?? '',
              })}</div>
              <div>${field(visit, terminalAction, {
                name: 'amount',
                label: 'Amount in its currency',
                isRequired: false,
                maxLength: 20,
              })}</div>
              <label>How the card is read<select name="entryMode">
                ${entryModes.map(([mode, words]) =>
                  option(mode, words, readKept(visit, terminalAction, 'entryMode')),
                )}
              </select></label>
              <label>PIN<input type="password" name="pin" maxlength="12" inputmode="numeric"
                autocomplete="off"></label>
              <label>CVV2<input type="password" name="cvv" maxlength="3" inputmode="numeric"
                autocomplete="off"></label>
              <label>PIN that the chip compares<input type="password" name="offlinePin"
                maxlength="12" inputmode="numeric" autocomplete="off"></label>
            </div>
            <label class="alone"><input type="checkbox" name="chip" value="yes">
              Use the virtual chip of the card, which is made if missing</label>
            <p class="hint">
              Requests spend tries as usual. A card with a chip needs its virtual chip in the modes
              chip, contactless and ATM. <code>pinfold sandbox chip --make</code> replaces it.
            </p>
            <button>Send</button>
          </form>
        </section>
        <section aria-labelledby="clock">
          <h2 id="clock">Clock</h2>
          <dl><dt>Time</dt><dd>${instant(now)}</dd></dl>
          <form method="post" action="${clockAction}" class="stack">
            ${formFields(visit)}
            ${field(visit, clockAction, {
              name: 'now',
              label: 'Move it to, in UTC',
              type: 'datetime-local',
              hint: 'Forward only. What is due by then happens at once, such as expiries of cards.',
            })}
            <button>Move the clock</button>
          </form>
        </section>
      </div>`,
  }
}

const AuthorizationSchema = Type.Object({
  approved: Type.Boolean(),
  responseCode: Type.String(),
  reference: Type.String(),
  virtualChip: Type.Optional(
    Type.Object({
      offlinePin: Type.String(),
      remainingOfflineTries: Type.Integer(),
      answerVerified: Type.Boolean(),
      commands: Type.Array(Type.Object({ number: Type.Integer(), result: Type.String() })),
    }),
  ),
})
type AnsweredAuthorization = Static<typeof AuthorizationSchema>

/** Describes the result in the virtual chip. */
function describeChip({ responseCode, virtualChip }: AnsweredAuthorization): readonly string[] {
  // A card without a chip is never declined by 88 here.
  if (!virtualChip && responseCode === '88') {
    return ['The card has a chip, which made no cryptogram. Use its virtual chip.']
  }
  if (!virtualChip) return []
  const { answerVerified, commands, offlinePin, remainingOfflineTries } = virtualChip
  return [
    `PIN in the chip: ${offlinePin.replace('_', ' ')}, ${left(remainingOfflineTries)}`,
    answerVerified
      ? 'The chip verified the answer.'
      : 'The chip got no answer that it could verify.',
    ...commands.map(
      ({ number, result }) => `Chip command ${number}: ${result.replaceAll('_', ' ')}`,
    ),
  ]
}

/** Describes a decline by its reason, which only the record of the authorization has. */
async function describeRefusal(
  visit: Visit,
  publicToken: string,
  { reference, responseCode }: AnsweredAuthorization,
): Promise<string> {
  const newest = await visit.read(
    path`/cards/${publicToken}/authorizations?limit=5`,
    Type.Array(RecordedAuthorizationSchema),
  )
  const own = newest.find((each) => each.reference === reference)
  const reason = own?.declineReason
  return describeDecline(responseCode, isDeclineReason(reason) ? reason : undefined)
}

/** Finds the currency of a card. Without such a card, the request fails in any currency. */
async function findCurrencyOf(visit: Visit, publicToken: string): Promise<string> {
  const answer = await visit.call('GET', path`/cards/${publicToken}/spending`)
  return answer.status === 200 ? parseAnswer(answer, CardSpendingSchema).currency : 'EUR'
}

export const authorizeAct: Act = {
  path: terminalAction,
  access: 'admin',
  async perform(visit, { amount, chip, cvv, entryMode, offlinePin, pin, publicToken = '' }) {
    const money = amount ? parseMoney(amount, await findCurrencyOf(visit, publicToken)) : null
    if (amount && !money) {
      throw validationFailed({ pointer: '/amount', detail: 'must be like 12.34' })
    }
    const answer = await visit.call('POST', '/sandbox/authorizations', {
      publicToken,
      entryMode,
      ...money,
      ...(pin && { pin }),
      ...(cvv && { cvv }),
      ...((chip || offlinePin) && { chip: true }),
      ...(offlinePin && { offlinePin }),
    })
    const authorization = parseAnswer(answer, AuthorizationSchema)
    const { approved, responseCode } = authorization
    const words = approved
      ? `Approved (${responseCode})`
      : `Declined: ${await describeRefusal(visit, publicToken, authorization)}`
    // Shown once: reloading the page sends no second request, which would spend a try.
    return {
      to: '/console/sandbox',
      notice: {
        tone: approved ? 'good' : 'bad',
        lines: [words, ...describeChip(authorization)],
        link: {
          href: cardPath(publicToken),
          text: 'The page of the card shows every check.',
        },
      },
      kept: { publicToken, amount: amount ?? '', entryMode: entryMode ?? '' },
    }
  },
}

export const moveClockAct: Act = {
  path: clockAction,
  access: 'admin',
  perform: (visit, { now = '' }) =>
    actAndReturn(visit, 'POST', '/sandbox/clock', {
      body: { now: toInstant(now) },
      to: '/console/sandbox',
      done: 'The clock was moved.',
    }),
}
