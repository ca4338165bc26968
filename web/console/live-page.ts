import { longerWait } from './back-off.ts'
import { showLiveState } from './live-state.ts'

/** A live part of this page. */
interface LivePart extends HTMLElement {
  /** The first wait, and the wait after a change. */
  readonly everyMs: number
  /** Shows the same part of a later answer. */
  show(page: Document): void
}

/** The live parts of this page. One request serves all of them. */
const regions = new Set<LivePart>()

/**
 * The last answer of the page, from which each part takes its own; null before the first change.
 */
let latest: Document | null = null
let waitMs = 0
let timer = 0
let isAsking = false

/** Makes a part live. */
export function follow(region: LivePart): void {
  regions.add(region)
  showLiveState('current')
  begin()
}

/** Leaves a part unchanged from now on. */
export function unfollow(region: LivePart): void {
  regions.delete(region)
}

/** Shows a part the changes that arrived while it was being read or typed in. */
export function catchUp(region: LivePart): void {
  if (latest) region.show(latest)
}

document.addEventListener('visibilitychange', begin)

/** Resets the wait, when a page is opened or shown. A hidden page sends no requests. */
function begin(): void {
  waitMs = Math.min(...[...regions].map(({ everyMs }) => everyMs))
  wait()
}

function wait(): void {
  window.clearTimeout(timer)
  if (!document.hidden && regions.size > 0) timer = window.setTimeout(look, waitMs)
}

/** Requests changes. The answer is empty (304) without changes, otherwise the page. */
function look(): void {
  if (isAsking) return
  isAsking = true
  // XMLHttpRequest parses a document, so that no markup is made from text.
  const request = new XMLHttpRequest()
  request.open('GET', location.href)
  request.setRequestHeader('if-none-match', `"${readVersion(latest ?? document)}"`)
  request.responseType = 'document'
  request.onloadend = () => {
    isAsking = false
    const isNew = request.status === 200 && request.response !== null
    const isCurrent = isNew || request.status === 304
    if (isNew) latest = request.response
    if (isCurrent) showLiveState('current')
    else showLiveState(request.status === 401 ? 'signed-out' : 'unreachable')
    for (const region of regions) {
      region.toggleAttribute('stale', !isCurrent)
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
