import Type from 'typebox'
import type { ProblemCode } from '../../../domain/problem.ts'
import { type ProblemKind, problemKinds } from '../../../domain/problem-kinds.ts'
import { answerHeaders } from './answer-headers.ts'

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ examples: ['/problems/validation_failed'] }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ examples: ['validation_failed'] }),
    detail: Type.Optional(Type.String()),
    requestId: Type.String(),
    replacedBy: Type.Optional(
      Type.String({ description: 'The successor of the card: with `card_already_replaced`.' }),
    ),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({
            description: 'A JSON Pointer to the member or parameter; `""` is the whole body.',
          }),
          parameter: Type.Optional(
            Type.String({
              description: 'The faulty query parameter or header. Absent for a body member.',
            }),
          ),
          detail: Type.String(),
        }),
      ),
    ),
  },
  { description: 'RFC 9457.' },
)

/** Returns the responses for some problems, by status. */
export function problemResponses(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = Object.groupBy(codes, (code) => String(problemKinds[code].status))
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, those = []]) => {
      const [only] = those
      // A problem that is alone on its status has a named response, which all operations share.
      const isAlone = those.length === 1 && only !== undefined
      const reference = isAlone && { $ref: `#/components/responses/${responseName(only)}` }
      return [status, reference || inlineResponse(those)]
    }),
  )
}

/** Lists the named responses that some paths refer to. */
export function namedProblemResponses(paths: object): Record<string, object> {
  const text = JSON.stringify(paths)
  return Object.fromEntries(
    (Object.keys(problemKinds) as ProblemCode[])
      .map((code) => [responseName(code), inlineResponse([code])] as const)
      .filter(([name]) => text.includes(`"#/components/responses/${name}"`))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )
}

/** Returns the name of a response: `card_not_found` is `CardNotFound`. */
const responseName = (code: ProblemCode): string =>
  code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

function inlineResponse(codes: readonly ProblemCode[]): object {
  const kinds: readonly ProblemKind[] = codes.map((code) => problemKinds[code])
  const requestId = '3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'
  return {
    description: codes.map((code) => `\`${code}\`: ${problemKinds[code].title}`).join('\n\n'),
    headers: answerHeaders(
      kinds.flatMap(({ retryAfterSeconds, status }) => [
        ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
        ...(retryAfterSeconds === undefined ? [] : ['Retry-After']),
      ]),
    ),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          codes.map((code) => {
            const { status, title } = problemKinds[code]
            return [code, { value: { type: `/problems/${code}`, title, status, code, requestId } }]
          }),
        ),
      },
    },
  }
}
