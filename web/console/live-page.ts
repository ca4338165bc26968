import { longerWait } from './back-off.ts'

/** A part of this page that follows it. */
interface LivePart extends HTMLElement {
  /** How long the first wait is, and each one after a change. */
  readonly everyMs: number
  /** Shows what a later answer of the page has in its place. */
  show(page: Document): void
}

/** The live parts of this page. They look together: one request, however many there are. */
const regions = new Set<LivePart>()

/**
 * The page as it was last answered, of which each part takes its own; null before the first change.
 */
let latest: Document | null = null
let waitMs = 0
let timer = 0
let isAsking = false

/** Has a part follow the page. */
export function follow(region: LivePart): void {
  regions.add(region)
  begin()
}

/** Leaves a part as it is. */
export function unfollow(region: LivePart): void {
  regions.delete(region)
}

/** Shows a part what came while it was read or typed in. */
export function catchUp(region: LivePart): void {
  if (latest) region.show(latest)
}

document.addEventListener('visibilitychange', begin)

/**
 * Asks often again: what is open now is looked at now. Nothing is asked while the page is hidden.
 */
function begin(): void {
  waitMs = Math.min(...[...regions].map(({ everyMs }) => everyMs))
  wait()
}

function wait(): void {
  window.clearTimeout(timer)
  if (!document.hidden && regions.size > 0) timer = window.setTimeout(look, waitMs)
}

/**
 * Asks whether there is anything new. The answer is empty (304) where nothing is, and the page
 * where something is.
 */
function look(): void {
  if (isAsking) return
  isAsking = true
  // It parses a document by itself, which takes no markup out of a text.
  const request = new XMLHttpRequest()
  request.open('GET', location.href)
  request.setRequestHeader('if-none-match', `"${readVersion(latest ?? document)}"`)
  request.responseType = 'document'
  request.onloadend = () => {
    isAsking = false
    const isNew = request.status === 200 && request.response !== null
    if (isNew) latest = request.response
    for (const region of regions) {
      region.toggleAttribute('stale', !isNew && request.status !== 304)
      catchUp(region)
    }
    if (isNew) begin()
    else {
      waitMs = longerWait(waitMs)
      wait()
    }
  }
  request.send()
}

const readVersion = ({ body }: Document): string => body.dataset.version ?? ''
