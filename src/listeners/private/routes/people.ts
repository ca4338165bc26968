import Type from 'typebox'
import { isPersonId } from '../../../domain/person.ts'
import { Problem } from '../../../domain/problem.ts'
import {
  endPersonSessions,
  findPersonRecord,
  listPeople,
} from '../../../operations/people/people.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { admin, adminOrAudit, createRequester, type PrivateApi } from '../api.ts'
import { PersonDetailSchema, PersonSchema, SessionsEndedSchema } from '../schemas/people.ts'

const tags = ['People']
const params = Type.Object({ personId: Type.String() })

/** Routes for the operators who have signed in to the console. */
export function operatorRoutes({ administration: people, app }: PrivateApi): void {
  app.get(
    '/people',
    {
      config: { ...adminOrAudit, lists: true },
      schema: {
        operationId: 'listPeople',
        summary: 'List people who have signed in',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(PersonSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const isId = (id: unknown): id is string => typeof id === 'string' && isPersonId(id)
      const after = readCursor(cursor, ([id]) => (isId(id) ? id : null)) ?? ''
      const listed = await listPeople(people, after, pageSize + 1)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: ({ personId }) => [personId],
      }).map(personAnswer)
    },
  )
  app.get(
    '/people/:personId',
    {
      config: adminOrAudit,
      schema: {
        operationId: 'getPerson',
        summary: 'Read a person with the open sessions',
        tags,
        params,
        response: { 200: PersonDetailSchema },
      },
    },
    async (request) => {
      const { sessions, ...person } = await findPersonRecord(people, parsePersonId(request))
      return {
        ...personAnswer(person),
        sessions: sessions.map(({ authenticatedAt, roles, seenAt, sessionId, startedAt }) => ({
          sessionId,
          roles: [...roles],
          authenticatedAt: authenticatedAt.toISOString(),
          startedAt: startedAt.toISOString(),
          seenAt: seenAt.toISOString(),
        })),
      }
    },
  )
}

/** Ends every session of a person. */
export function signPersonOutRoute({ administration: people, app }: PrivateApi): void {
  app.post(
    '/people/:personId/sign-out',
    {
      config: { ...admin, notRepeatable: 'a repeat ends the sessions that are open then' },
      schema: {
        operationId: 'signPersonOut',
        summary: 'End every session of a person',
        description:
          'In every browser. The identity provider decides whether the person can sign in again.',
        tags,
        params,
        response: { 200: SessionsEndedSchema },
      },
    },
    async (request) => ({
      sessionsEnded: await endPersonSessions(
        people,
        createRequester(request),
        parsePersonId(request),
      ),
    }),
  )
}

/** @throws `Problem` `not_found` if the text cannot be the id of a person. */
function parsePersonId({ params: { personId } }: { params: { personId: string } }): string {
  if (!isPersonId(personId)) throw new Problem('not_found')
  return personId
}

const personAnswer = ({
  firstSignedInAt,
  lastSignedInAt,
  roles,
  ...person
}: Awaited<ReturnType<typeof listPeople>>[number]) => ({
  ...person,
  roles: [...roles],
  firstSignedInAt: firstSignedInAt.toISOString(),
  lastSignedInAt: lastSignedInAt.toISOString(),
})
