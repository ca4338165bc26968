import Type, { type Static } from 'typebox'
import { type Html, html } from '../../listeners/http/html.ts'
import { AuditLogSchema } from '../../listeners/private/schemas/audit-log.ts'
import { ActSchema } from '../../listeners/private/schemas/products.ts'
import { badge, instant, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, type Screen } from '../screen.ts'

/** The logs, their signatures and operators' acts. */
export const auditLogScreen: Screen = {
  path: '/console/audit-log',
  access: ['admin', 'audit.read'],
  navigation: 'Audit log',
  async show(visit) {
    const [logs, acts] = await Promise.all([
      visit.read('/audit/logs', Type.Array(AuditLogSchema)),
      list(visit, '/acts', ActSchema),
    ])
    const refused = logs.find(({ refusal }) => refusal !== null)
    return {
      title: 'Audit log',
      body: html`${
        refused &&
        html`<div class="notice bad" role="alert">
          <p>No checkpoint is signed: ${refused.refusal}</p>
        </div>`
      }<p><a class="button" href="/audit">Verify the log in this browser</a></p>
        <h2>Logs</h2>${listed(
          'Logs',
          [
            'Log',
            'State',
            { title: 'Entries', isNumber: true },
            { title: 'Covered by a checkpoint', isNumber: true },
            'Signed',
            'Began',
          ],
          logs.map(
            (log) =>
              html`<tr>
                <th scope="row">${log.log}<p class="fine">${log.origin}</p></th>
                <td>
                  ${stateBadge(log)}
                  ${log.reason !== null && html`<p class="fine">${log.reason}</p>`}
                </td>
                <td class="number">${log.size}</td>
                <td class="number">${log.signedSize}</td>
                <td>${instant(log.signedAt) ?? 'never'}</td>
                <td>${instant(log.beganAt)}</td>
              </tr>`,
          ),
          'No log has begun yet.',
        )}${
          refused &&
          visit.scopes.has('admin') &&
          html`<form method="post" action="/console/audit-log/successor" class="stack">
            ${formFields(visit)}
            <h2>Begin a successor</h2>
            <label>Reason, for the auditors of the log<input name="reason" required
              maxlength="500" autocomplete="off"></label>
            <p class="hint">
              This closes the log permanently. Its entries that no checkpoint covers move to the
              successor.
            </p>
            <button class="danger">Begin a successor</button>
          </form>`
        }<h2>Acts of operators</h2>${listed(
          'Acts',
          ['Time', 'Act', 'Subject', 'Actor', 'Details'],
          acts.entries.map(
            ({ act, at, clientId, clientName, details, requestId, subject, subjectKind }) => {
              const text = JSON.stringify(details)
              return html`<tr>
              <td>${instant(at)}</td>
              <td>${act}</td>
              <td>${subjectKind} <code>${subject}</code></td>
              <td>
                ${renderActor(visit, clientId, clientName)}
                <p class="fine">request ${requestId}</p>
              </td>
              <td>${
                text !== '{}' &&
                html`<details><summary>Show</summary><code>${text}</code></details>`
              }</td>
            </tr>`
            },
          ),
          'Nothing yet.',
        )}${pages(visit, acts.next)}`,
    }
  },
}

function stateBadge({ closedAt, refusal }: Static<typeof AuditLogSchema>): Html {
  if (refusal !== null) return badge('Refused', 'bad')
  return closedAt === null ? badge('In use', 'good') : badge('Closed')
}

export const succeedLogAct: Act = {
  path: '/console/audit-log/successor',
  access: 'admin',
  perform: (visit, { reason }) =>
    actAndReturn(visit, 'POST', '/audit/successor', {
      body: { reason },
      to: '/console/audit-log',
      done: 'The log is closed, and its successor has begun.',
    }),
}
