import Type, { type Static } from 'typebox'
import { isKeyName } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import * as linkOperations from '../../../operations/links/links.ts'
import { listAdvices } from '../../../operations/links/reversals.ts'
import { cutPage, PageQuerySchema, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { adminChange, adminOrSupport, createRequester, type PrivateApi } from '../api.ts'
import { approvalByBody } from '../approval-gate.ts'
import { AdviceSchema, ChangeLinkSchema, CreateLinkSchema, LinkSchema } from '../schemas/links.ts'

const tags = ['Links']
const params = Type.Object({ linkName: Type.String() })

/** Routes for the connections on which card networks use ISO 8583. */
export function linkRoutes({ app, links }: PrivateApi): void {
  app.get(
    '/links',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'listLinks',
        summary: 'List links with their state',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(LinkSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([name]) => (isKeyName(name) ? name : null)) ?? ''
      const listed = await linkOperations.listLinks(links, after, pageSize + 1)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: (last) => [last.linkName],
      }).map(linkAnswer)
    },
  )
  app.get(
    '/links/:linkName',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'getLink',
        summary: 'Read a link with its state',
        tags,
        params,
        response: { 200: LinkSchema },
      },
    },
    async (request) =>
      linkAnswer(
        await linkOperations.findLinkRecord(links, parseLinkName(request.params.linkName)),
      ),
  )
}

/** Lists the advices and reversals that card networks sent on a link. */
export function listLinkAdvicesRoute({ app, links }: PrivateApi): void {
  app.get(
    '/links/:linkName/advices',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'listLinkAdvices',
        summary: 'List advices and reversals of a link',
        description:
          'The advices and reversals that the network sent in the last 30 days, newest first. ' +
          'They never change tries.',
        tags,
        params,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(AdviceSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const linkName = parseLinkName(request.params.linkName)
      const before = readCursor(cursor, ([at, adviceHash]) => {
        const receivedAt = parseInstant(at)
        const isHash = typeof adviceHash === 'string' && /^[0-9a-f]{64}$/.test(adviceHash)
        return receivedAt !== null && isHash ? { receivedAt, adviceHash } : null
      })
      const listed = await listAdvices(links, linkName, before, pageSize + 1)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: (last) => [last.receivedAt, last.adviceHash],
      }).map(({ adviceHash: _, ...advice }) => advice)
    },
  )
}

export function createLinkRoute({ app, links }: PrivateApi): void {
  app.post(
    '/links',
    {
      config: { ...adminChange, approval: { kinds: ['link'] } },
      schema: {
        operationId: 'createLink',
        summary: 'Register a link of a card network',
        description: 'Every process connects it within seconds.',
        tags,
        body: CreateLinkSchema,
        response: { 201: LinkSchema },
      },
    },
    async (request, reply) => {
      const {
        certificates = [],
        peers = [],
        tls = false,
        zoneMasterKey = null,
        reason = null,
        ...given
      } = request.body
      const link = { ...given, certificates, peers, tls, zoneMasterKey, active: true }
      const operator = createRequester(request, reason)
      const answer = await linkOperations.createLink(links, operator, link, repeatable(request))
      return reply.code(201).send(linkAnswer(markReplay(reply, answer)))
    },
  )
}

export function changeLinkRoute({ app, links }: PrivateApi): void {
  app.patch(
    '/links/:linkName',
    {
      config: {
        ...adminChange,
        approval: approvalByBody(ChangeLinkSchema, {
          kinds: ['link'],
          findKinds: (change) => (isDisabling(change) ? [] : ['link']),
        }),
      },
      schema: {
        operationId: 'changeLink',
        summary: 'Change, disable or enable a link',
        description: 'Absent members do not change. Its connections end.',
        tags,
        params,
        body: ChangeLinkSchema,
        response: { 200: LinkSchema },
      },
    },
    async (request, reply) => {
      const { reason = null, ...settings } = request.body
      const change = { ...settings, linkName: parseLinkName(request.params.linkName) }
      const operator = createRequester(request, reason)
      const answer = await linkOperations.changeLink(links, operator, change, repeatable(request))
      return linkAnswer(markReplay(reply, answer))
    },
  )
}

type LinkChange = Static<typeof ChangeLinkSchema>

/** Whether a change only disables a link. */
const isDisabling = ({ active, reason: _, ...others }: LinkChange): boolean =>
  active === false && Object.keys(others).length === 0

/** @throws `Problem` `not_found` if the text cannot be the name of a link. */
function parseLinkName(name: string): string {
  if (!isKeyName(name)) throw new Problem('not_found', { detail: linkOperations.noLink })
  return name
}

const linkAnswer = ({ certificates, peers, ...link }: linkOperations.LinkRecord) => ({
  ...link,
  certificates: [...certificates],
  peers: [...peers],
})
