import { html } from '../../listeners/http/html.ts'
import { PersonDetailSchema, PersonSchema } from '../../listeners/private/schemas/people.ts'
import { badge, instant } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, path, type Screen } from '../screen.ts'

const access = ['admin', 'audit.read'] as const

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
      </p>${listed(
        'People',
        ['Person', 'Roles', 'Sessions', 'Last signed in', 'First signed in'],
        entries.map(
          (person) =>
            html`<tr class="line">
              <th scope="row">
                <a class="cut" href="${path`/console/people/${person.personId}`}"
                  title="${person.subject} at ${person.issuer}"><bdi>${person.name}</bdi></a>
              </th>
              <td>${person.roles.map((role) => html`${badge(role.replace('-', ' '))} `)}</td>
              <td>${
                person.openSessions > 0 ? badge(`${person.openSessions} open`, 'good') : 'none'
              }</td>
              <td>${instant(person.lastSignedInAt)}</td>
              <td>${instant(person.firstSignedInAt)}</td>
            </tr>`,
        ),
        'No sign-ins yet.',
      )}${pages(visit, next)}`,
    }
  },
}

export const personScreen: Screen = {
  path: '/console/people/:personId',
  access,
  navigation: null,
  async show(visit) {
    const { personId = '' } = visit.params
    const person = await visit.read(path`/people/${personId}`, PersonDetailSchema)
    return {
      title: person.name,
      body: html`<section aria-labelledby="who">
          <h2 id="who">Identity</h2>
          <dl>
            <dt>Id in records</dt><dd><code>${person.personId}</code></dd>
            <dt>Issuer</dt><dd>${person.issuer}</dd>
            <dt>Subject</dt><dd>${person.subject}</dd>
            <dt>Roles</dt>
            <dd>${person.roles.map((role) => html`${badge(role.replace('-', ' '))} `)}</dd>
            <dt>Last signed in</dt><dd>${instant(person.lastSignedInAt)}</dd>
            <dt>Acts</dt>
            <dd>
              <a href="${path`/console/audit-log?person=${personId}`}">In the audit log</a>
            </dd>
            <dt>Card data shown</dt>
            <dd><a href="${path`/console/disclosures?of=${personId}`}">Disclosures</a></dd>
          </dl>
        </section>
        <h2>Open sessions</h2>${listed(
          'Open sessions',
          ['Began', 'Last visit', 'Authenticated', 'Roles'],
          person.sessions.map(
            ({ authenticatedAt, roles, seenAt, startedAt }) =>
              html`<tr>
                  <td>${instant(startedAt)}</td>
                  <td>${instant(seenAt)}</td>
                  <td>${instant(authenticatedAt)}</td>
                  <td>${roles.join(', ')}</td>
                </tr>`,
          ),
          'None. This person is not signed in.',
        )}${
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

export const signPersonOutAct: Act = {
  path: '/console/people/:personId/sign-out',
  access: 'admin',
  perform: (visit) =>
    actAndReturn(visit, 'POST', path`/people/${visit.params.personId ?? ''}/sign-out`, {
      to: path`/console/people/${visit.params.personId ?? ''}`,
      done: 'All sessions of this person are revoked.',
    }),
}
