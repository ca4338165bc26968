import { type ProblemCode, type ProblemKind, problemKinds } from '../../errors.ts'
import { answerHeaders } from './answer-headers.ts'

const mediaType = 'application/problem+json'
const schema = { $ref: '#/components/schemas/Problem' }

/** The responses that some problems are answered with, by status. */
export function problemResponses(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = Object.groupBy(codes, (code) => String(problemKinds[code].status))
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, those = []]) => [status, responseOf(those)]),
  )
}

/** A problem alone on its status has a response by its name: it is the same in every operation. */
const responseOf = (codes: readonly ProblemCode[]): object =>
  codes.length === 1 && codes[0]
    ? { $ref: `#/components/responses/${responseName(codes[0])}` }
    : inlineResponse(codes)

/** The named responses that some paths refer to. */
export function namedProblemResponses(paths: object): Record<string, object> {
  const text = JSON.stringify(paths)
  return Object.fromEntries(
    problemCodes()
      .map((code) => [responseName(code), inlineResponse([code])] as const)
      .filter(([name]) => text.includes(`"#/components/responses/${name}"`))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )
}

const problemCodes = (): ProblemCode[] => Object.keys(problemKinds) as ProblemCode[]

/** `card_not_found` is `CardNotFound`. */
const responseName = (code: ProblemCode): string =>
  code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

const inlineResponse = (codes: readonly ProblemCode[]): object => ({
  description: codes.map(describe).join('\n\n'),
  headers: answerHeaders(codes.flatMap(headersOf)),
  content: {
    [mediaType]: {
      schema,
      examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
    },
  },
})

const describe = (code: ProblemCode): string => `\`${code}\`: ${problemKinds[code].title}`

/** The headers of a problem beside those of every answer. */
function headersOf(code: ProblemCode): string[] {
  const { retryAfterSeconds, status }: ProblemKind = problemKinds[code]
  return [
    ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
    ...(retryAfterSeconds === undefined ? [] : ['Retry-After']),
  ]
}

function exampleOf(code: ProblemCode): object {
  const { status, title } = problemKinds[code]
  const requestId = '3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'
  return { type: `/problems/${code}`, title, status, code, requestId }
}
