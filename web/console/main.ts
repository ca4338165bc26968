import { holdForms } from './held-forms.ts'
import { openKeys } from './keys.ts'
import { LiveRegion } from './live-region.ts'
import { openClockSwitch, showLocalTimes } from './local-time.ts'

// If the page answers a form, Back and Reload visit it and do not send the form again.
history.replaceState(null, '', location.href)
customElements.define('live-region', LiveRegion)
showLocalTimes(document)
openClockSwitch()
openKeys()
holdForms()
