import type { DecisionFormat } from '../../domain/decision.ts'
import { composePinfoldRequest, type DecisionRequest } from './compose-request.ts'
import { type AnswerTerms, type ParsedAnswer, parsePinfoldAnswer } from './parse-answer.ts'
import { composeThreddRequest, parseThreddAnswer } from './thredd-ehi.ts'

interface Format {
  /** Composes the body of a request: the same bytes at any time, in any process. */
  compose(request: DecisionRequest): string
  /** Parses the bytes of an answer. */
  parse(bytes: Uint8Array, terms: AnswerTerms): ParsedAnswer
}

/** The formats that an endpoint can choose. */
export const formats: Readonly<Record<DecisionFormat, Format>> = {
  pinfold: { compose: composePinfoldRequest, parse: parsePinfoldAnswer },
  'thredd-ehi': { compose: composeThreddRequest, parse: parseThreddAnswer },
}
