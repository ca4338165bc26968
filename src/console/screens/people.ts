import type { Static } from 'typebox'
import { html } from '../../listeners/http/html.ts'
import { PersonDetailSchema, PersonSchema } from '../../listeners/private/schemas/people.ts'
import { badge, instant, nameRole } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, formFields, path, type Screen } from '../screen.ts'

const access = ['admin', 'audit.read'] as const
type Person = Static<typeof PersonSchema>
type PersonSession = Static<typeof PersonDetailSchema>['sessions'][number]

/** The people who have signed in, with their roles. */
export const operatorsScreen: Screen = {
  path: '/console/people',
  access,
  navigation: 'People',
  async show(visit) {
    const { entries, next } = await list(visit, '/people', PersonSchema)
    return {
      title: 'People',
      body: html`<p class="hint">
        The identity provider decides who can sign in, and with which roles.
      </p>${renderTable({
        name: 'People',
        columns: personColumns,
        rows: entries,
        empty: 'No sign-ins yet.',
        isOneLine: true,
      })}${pages(visit, next)}`,
    }
  },
}

const personColumns: readonly Column<Person>[] = [
  {
    title: 'Person',
    kind: 'name',
    cell: ({ issuer, name, personId, subject }) =>
      html`<a class="cut" href="${path`/console/people/${personId}`}"
        title="${subject} at ${issuer}"><bdi>${name}</bdi></a>`,
  },
  {
    title: 'Roles',
    cell: ({ roles }) => roles.map((role) => html`${badge(nameRole(role))} `),
  },
  {
    title: 'Sessions',
    cell: ({ openSessions }) => (openSessions > 0 ? badge(`${openSessions} open`, 'good') : 'none'),
  },
  { title: 'Last signed in', cell: ({ lastSignedInAt }) => instant(lastSignedInAt) },
  { title: 'First signed in', cell: ({ firstSignedInAt }) => instant(firstSignedInAt) },
]

export const personScreen: Screen = {
  path: '/console/people/:personId',
  access,
  navigation: null,
  async show(visit) {
    const { personId = '' } = visit.params
    const person = await visit.read(path`/people/${personId}`, PersonDetailSchema)
    return {
      title: person.name,
      trail: { above: [{ name: 'People', path: '/console/people' }], name: person.name },
      body: html`<section aria-labelledby="who">
          <h2 id="who">Identity</h2>
          <dl>
            <dt>Id in records</dt><dd><code>${person.personId}</code></dd>
            <dt>Issuer</dt><dd>${person.issuer}</dd>
            <dt>Subject</dt><dd>${person.subject}</dd>
            <dt>Roles</dt>
            <dd>${person.roles.map((role) => html`${badge(nameRole(role))} `)}</dd>
            <dt>Last signed in</dt><dd>${instant(person.lastSignedInAt)}</dd>
            <dt>Acts</dt>
            <dd>
              <a href="${path`/console/audit-log?person=${personId}`}">In the audit log</a>
            </dd>
            <dt>Card data shown</dt>
            <dd><a href="${path`/console/disclosures?of=${personId}`}">Disclosures</a></dd>
          </dl>
        </section>
        <h2>Open sessions</h2>${renderTable({
          name: 'Open sessions',
          columns: sessionColumns,
          rows: person.sessions,
          empty: 'None. This person is not signed in.',
        })}${
          visit.scopes.has('admin') &&
          person.sessions.length > 0 &&
          html`<form method="post" action="${path`/console/people/${personId}/sign-out`}">
              ${formFields(visit)}
              <button class="danger">End every session</button>
            </form>`
        }`,
    }
  },
}

const sessionColumns: readonly Column<PersonSession>[] = [
  { title: 'Began', cell: ({ startedAt }) => instant(startedAt) },
  { title: 'Last visit', cell: ({ seenAt }) => instant(seenAt) },
  { title: 'Authenticated', cell: ({ authenticatedAt }) => instant(authenticatedAt) },
  { title: 'Roles', cell: ({ roles }) => roles.map(nameRole).join(', ') },
]

export const signPersonOutAct: Act = {
  path: '/console/people/:personId/sign-out',
  access: 'admin',
  perform: (visit) =>
    actAndReturn(visit, 'POST', path`/people/${visit.params.personId ?? ''}/sign-out`, {
      to: path`/console/people/${visit.params.personId ?? ''}`,
      done: 'All sessions of this person are revoked.',
    }),
}
