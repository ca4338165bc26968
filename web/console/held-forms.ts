/** How long an answer is awaited. */
const answerMs = 8_000

/** The forms whose next submission is not held back. */
const cleared = new WeakSet<HTMLFormElement>()
let isAsking = false

/**
 * Holds back a form while the service does not answer: the browser would show a page of its own,
 * and what was typed would be lost.
 */
export function holdForms(): void {
  document.addEventListener('submit', (event) => {
    const { submitter, target: form } = event
    if (!(form instanceof HTMLFormElement) || form.method !== 'post') return
    if (cleared.delete(form)) return
    event.preventDefault()
    if (!isAsking) void submitOnceAnswered(form, submitter)
  })
}

async function submitOnceAnswered(
  form: HTMLFormElement,
  submitter: HTMLElement | null,
): Promise<void> {
  isAsking = true
  const isAnswered = await answers()
  isAsking = false
  form.querySelector('.held')?.remove()
  if (isAnswered) {
    cleared.add(form)
    form.requestSubmit(submitter)
  } else form.append(createMessage())
}

/** Whether the service answers at all: the page of a failure has what was typed, too. */
const answers = (): Promise<boolean> =>
  fetch('/console/assets/icon.svg', {
    method: 'HEAD',
    cache: 'no-store',
    signal: AbortSignal.timeout(answerMs),
  }).then(
    () => true,
    () => false,
  )

function createMessage(): HTMLElement {
  const message = document.createElement('p')
  message.className = 'fault held'
  message.setAttribute('role', 'alert')
  message.textContent =
    'The service does not answer. Nothing was sent, and what you typed is kept. Try again later.'
  return message
}
