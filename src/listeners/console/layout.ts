import { type Content, type Html, html } from './html.ts'
import { formFields, type Page, type Screen, type Visit } from './screen.ts'

/** What the frame around a page shows of whoever looks at it. */
export interface Frame {
  readonly visit: Pick<Visit, 'person' | 'formToken' | 'here' | 'isReadOnly' | 'isSandbox'>
  /** The screens that the person may see, for the navigation. */
  readonly screens: readonly Screen[]
}

/** A whole page. Without a frame: nobody is signed in, or it is not known who. */
export const layout = ({ body, title }: Page, frame: Frame | null): Html =>
  html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} · Pinfold</title></head><body>${frame && header(frame)}<main><h1>${title}</h1>${body}</main></body></html>`

const header = ({ screens, visit }: Frame): Content =>
  html`<header><nav>${screens
    .filter(({ navigation }) => navigation !== null)
    .map(
      ({ navigation, path }) => html`<a href="${path}">${navigation}</a> `,
    )}</nav><p>${visit.person.name} (${visit.person.roles.join(', ')})</p><form method="post" action="/console/sign-out">${formFields(visit)}<button>Sign out</button></form></header>`
