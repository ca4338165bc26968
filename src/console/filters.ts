import type { TSchema } from 'typebox'
import { Problem } from '../domain/problem.ts'
import { type Content, html } from '../listeners/http/html.ts'
import { type Listing, list } from './listing.ts'
import type { Visit } from './screen.ts'

/** A page of a list, or why its filter cannot be searched. */
interface FilteredListing<Schema extends TSchema> extends Listing<Schema> {
  /** Null if it was searched. */
  readonly fault: string | null
}

/**
 * Reads a page of a list by the filter in its address. A filter that the listener refuses is a
 * fault, so that the page can show its form again.
 * @throws `Problem` of the listener for any other failure
 */
export async function listFiltered<Schema extends TSchema>(
  visit: Visit,
  address: string,
  schema: Schema,
  limit = 100,
): Promise<FilteredListing<Schema>> {
  try {
    return { ...(await list(visit, address, schema, limit)), fault: null }
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 422) throw error
    return { entries: [], next: null, fault: describeFault(error) }
  }
}

/** The names of parameters in the forms of filters. */
const filterNames: Readonly<Record<string, string>> = {
  clientId: 'The id of a client',
  from: 'The beginning',
  outcome: 'The answer',
  responseCode: 'The reason',
  to: 'The end',
}

function describeFault({ errors = [], title }: Problem): string {
  const faults = errors.map(({ detail, parameter = '' }) =>
    parameter === 'cursor'
      ? 'The address of this page of the list is not valid. Open the list again.'
      : `${filterNames[parameter] ?? parameter} ${detail}.`,
  )
  return faults.join(' ') || title
}

/** Renders the fault of a filter. */
export const filterFault = (fault: string | null): Content =>
  fault !== null && html`<p class="notice bad" role="alert">${fault}</p>`
