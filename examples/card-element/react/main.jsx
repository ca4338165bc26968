import { pinKeys } from 'pinfold-card-element'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import keys from '../keys.json'

function MyCard() {
  const [card, setCard] = useState(null)
  const [state, setState] = useState('masked')
  useEffect(() => {
    fetch('/my-card')
      .then((answer) => answer.json())
      .then(({ baseUrl, ...shown }) => setCard({ ...shown, service: pinKeys(baseUrl, keys) }))
  }, [])
  if (!card) return <p>One moment …</p>
  // React 19 sets `service`, which the element has, as a property, and the others as attributes.
  return (
    <>
      <h1>My card</h1>
      <pinfold-card
        issuer-name="Example Bank"
        scheme-name="Visa"
        public-token={card.publicToken}
        masked-pan={card.maskedPan}
        emboss-name={card.embossName}
        relay-url="/my-card/encrypted"
        set-pin-url="/my-card/pin"
        service={card.service}
        onpinfold-state={({ detail }) => setState(detail.state)}
      />
      <p id="state">{state}</p>
    </>
  )
}

createRoot(document.getElementById('app')).render(<MyCard />)
