import { html } from '../html.ts'
import type { Screen } from '../screen.ts'

/** Where everybody begins. */
export const homeScreen: Screen = {
  path: '/console',
  access: 'anyone',
  navigation: 'Home',
  show: async ({ person }) => ({
    title: 'Home',
    body: html`<p>Signed in as ${person.name}.</p>`,
  }),
}
