import { type Content, type Html, html } from '../listeners/http/html.ts'
import { badge, nameRole } from './desk-parts.ts'
import { refusalSummary } from './fields.ts'
import { computeLiveVersion } from './live-version.ts'
import { noticeContent } from './notice.ts'
import {
  formFields,
  type Notice,
  type Page,
  type Screen,
  type Trail,
  type Visit,
} from './screen.ts'

/** The data of the viewer in the frame around a page. */
export interface Frame {
  readonly visit: Pick<
    Visit,
    'person' | 'formToken' | 'here' | 'isReadOnly' | 'isSandbox' | 'refused' | 'scopes'
  >
  /** The screens that the person may open, for the navigation. */
  readonly screens: readonly Screen[]
  /** A one-time notice; null without one. */
  readonly notice: Notice | null
  /** The number of approvals that wait for the person. */
  readonly waitingApprovals: number
}

/** The script module of each page. A package contains the compiled script. */
const script = 'web/console/main.ts'

/** Renders a whole page. Without a frame, no person is signed in, or the person is unknown. */
export function layout({ body, title, trail }: Page, frame: Frame | null): Html {
  const version = computeLiveVersion(body)
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title} · Pinfold</title>
  <link rel="icon" href="/console/assets/icon.svg">
  <link rel="stylesheet" href="/console/assets/console.css">
  <script type="module" src="/console/assets/${script}"></script>
</head>
<body${frame === null && html` class="bare"`}${version && html` data-version="${version}"`}>
  <a class="skip" href="#content">Skip to the content</a>
  ${frame && header(frame)}
  ${frame && navigation(frame)}
  <main id="content" tabindex="-1">
    ${frame === null && html`<p class="brand">Pinfold</p>`}
    ${trail && renderTrail(trail)}
    <h1>${title}</h1>
    ${version && html`<p class="live-state" hidden></p>`}
    ${frame?.notice && noticeContent(frame.notice)}
    ${frame?.visit.refused && refusalSummary(frame.visit.refused)}
    ${body}
  </main>
</body>
</html>
`
}

const renderTrail = ({ above, name }: Trail): Html =>
  html`<nav class="trail" aria-label="Path">
    <ol>
      ${above.map((each) => html`<li><a href="${each.path}">${each.name}</a></li>`)}
      <li aria-current="page"><bdi>${name}</bdi></li>
    </ol>
  </nav>`

const header = ({ screens, visit }: Frame): Content =>
  html`<header class="top">
    <button class="quiet menu" popovertarget="screens">Menu</button>
    <a class="brand" href="/console">Pinfold</a>
    ${visit.isSandbox && badge('Sandbox', 'warn')}
    ${visit.isReadOnly && badge('Read-only', 'warn')}
    ${screens.some(({ path }) => path === searchPath) && findForm(visit)}
    <span id="clock" class="clock" role="group" aria-label="Times" hidden>
      <button type="button" class="quiet" value="local">Local</button>
      <button type="button" class="quiet" value="utc">UTC</button>
    </span>
    <form class="who" method="post" action="/console/sign-out">
      ${formFields(visit)}
      <span class="cut">
        <b><bdi>${visit.person.name}</bdi></b> <small>${nameRoles(visit.person)}</small>
      </span>
      <button class="quiet">Sign out</button>
    </form>
  </header>`

const nameRoles = ({ roles }: Visit['person']): string => roles.map(nameRole).join(', ')

const searchPath = '/console/search'

const findForm = (visit: Frame['visit']): Content =>
  html`<form class="find" method="post" action="${searchPath}"
    role="search" aria-label="Find a card">
    ${formFields(visit)}
    <input type="search" name="text" required maxlength="64" autocomplete="off"
      spellcheck="false" placeholder="Find a card" aria-label="Find a card"
      aria-keyshortcuts="/">
    <button class="quiet">Find</button>
  </form>`

/** A screen of the navigation, and the letter of its shortcut after `g`. */
interface NavigationLink {
  readonly group: string
  readonly name: string
  readonly path: string
  readonly letter: string
}

/** The shortcut of a screen is the first letter of its name that no screen before it has. */
function listNavigation(screens: readonly Screen[]): NavigationLink[] {
  const taken = new Set<string>()
  return screens.flatMap(({ group = '', navigation: name, path }) => {
    if (name === null) return []
    const letters = [...name.toLowerCase()].filter((letter) => /[a-z]/.test(letter))
    const letter = letters.find((each) => !taken.has(each)) ?? ''
    taken.add(letter)
    return [{ group, name, path, letter }]
  })
}

/**
 * Renders the screens that the person may open, in their groups. On a telephone it is a popover,
 * which the menu button of the header opens.
 */
function navigation({ screens, visit, waitingApprovals }: Frame): Content {
  const [here = ''] = visit.here.split('?')
  const link = ({ letter, name, path }: NavigationLink) => {
    const isHere = here === path || (path !== '/console' && here.startsWith(`${path}/`))
    return html`<li>
      <a href="${path}" data-letter="${letter}"${isHere && html` aria-current="page"`}>${name}${
        path === '/console/approvals' && waitingApprovals > 0 && waitingBadge(waitingApprovals)
      }</a>
    </li>`
  }
  const groups = Map.groupBy(listNavigation(screens), ({ group }) => group)
  const lists = [...groups].map(
    ([group, links]) => html`${group && html`<p class="group">${group}</p>`}
      <ul>${links.map(link)}</ul>`,
  )
  const { name } = visit.person
  return html`<nav class="screens" id="screens" popover aria-label="Screens">
    <p class="me"><b><bdi>${name}</bdi></b> <small>${nameRoles(visit.person)}</small></p>
    ${lists}
  </nav>`
}

const waitingBadge = (count: number): Html =>
  html` <span class="count" title="${count} waiting for you">${count}</span>`
