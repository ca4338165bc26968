import type { Static, TSchema } from 'typebox'
import type { Scope } from '../../domain/client.ts'
import type { Person } from '../../domain/person.ts'
import type { Access } from '../http/authentication.ts'
import type { Html } from './html.ts'

/** What the private listener answered. */
export interface ApiAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, or the text of an answer that is none. */
  readonly body: unknown
}

/** Somebody who is signed in looks at a screen. */
export interface Visit {
  readonly person: Person
  /** What the person may do here: a screen shows no button that would be refused. */
  readonly scopes: ReadonlySet<Scope>
  /** Whether this installation has what only a sandbox has. */
  readonly isSandbox: boolean
  /** Goes into each form: who sends one without it is refused. */
  readonly formToken: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /**
   * Reads from the private listener, as this person: there is no other way to anything.
   * @throws `Problem`, that which the listener answered
   */
  read<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>>
  /** Calls the private listener, as this person. A POST carries the idempotency key of the form that it comes from. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<ApiAnswer>
}

/** What is shown. */
export interface Page {
  readonly title: string
  readonly body: Html
  /** 200 unless given. */
  readonly status?: number
}

/** A page of the console. */
export interface Screen {
  /** `/console/cards/:publicToken` */
  readonly path: string
  /** The scopes of which one is needed, as of a route. */
  readonly access: Exclude<Access, 'open'>
  /** Its name in the navigation; null where no link of that leads to it. */
  readonly navigation: string | null
  show(visit: Visit): Promise<Page>
}

/** What a form of the console does. */
export interface Act {
  readonly path: string
  readonly access: Exclude<Access, 'open'>
  /** @returns where to go from there (303), or a page that says what was wrong, the form in it again. */
  perform(
    visit: Visit,
    form: Readonly<Record<string, string>>,
  ): Promise<{ readonly to: string } | Page>
}
