import Type from 'typebox'
import { instant } from '../desk-parts.ts'
import { actAndReturn, doneOf } from '../done.ts'
import { html } from '../html.ts'
import { type Act, formFields, type Screen } from '../screen.ts'

const ClockSchema = Type.Object({ now: Type.String() })

/** What only a sandbox has: a clock that moves. */
export const sandboxScreen: Screen = {
  path: '/console/sandbox',
  access: 'admin',
  navigation: 'Sandbox',
  async show(visit) {
    const { now } = await visit.read('/sandbox/clock', ClockSchema)
    return {
      title: 'Sandbox',
      body: html`${doneOf(visit)}<section aria-labelledby="clock"><h2 id="clock">Clock</h2><dl><dt>It is</dt><dd>${instant(now)}</dd></dl>
        <form method="post" action="/console/sandbox/clock">${formFields(visit)}<label>Move it to, in UTC<input type="datetime-local" name="now" required min="${now.slice(0, 16)}" step="60"></label>
        <p class="hint">Forward alone. What comes due until then happens at once: cards expire, for instance.</p><button>Move the clock</button></form></section>`,
    }
  },
}

export const moveClockAct: Act = {
  path: '/console/sandbox/clock',
  access: 'admin',
  perform: (visit, { now = '' }) =>
    actAndReturn(visit, 'POST', '/sandbox/clock', {
      body: { now: `${now.length === 16 ? `${now}:00` : now}Z` },
      to: '/console/sandbox',
    }),
}
