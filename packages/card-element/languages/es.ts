import type { CardWords } from '../card-words.ts'

export const spanish: CardWords = {
  direction: 'ltr',
  card: 'Tarjeta de pago',
  number: 'Número de tarjeta',
  expires: 'Caduca',
  cvv: 'CVV',
  pin: 'PIN',
  hidden: 'oculto',
  endsIn: 'termina en {digits}',
  show: 'Mostrar datos',
  hide: 'Ocultar datos',
  copy: 'Copiar número',
  busy: 'Un momento …',
  hiddenIn: 'se oculta en {count} s',
  detailsHidden: 'Datos ocultos.',
  shownFor: {
    one: 'Los datos se muestran durante un segundo.',
    other: 'Los datos se muestran durante {count} segundos.',
  },
  copied: 'Copiado. El portapapeles se vacía en {count} segundos, si esta página sigue abierta.',
  cleared: 'El portapapeles se ha vaciado.',
  cannotCopy: 'Este navegador no permite copiar. Seleccione el número.',
  cannotClear: 'Este navegador no permite vaciar el portapapeles: copie otra cosa.',
  setPin: 'Elegir PIN',
  newPin: 'PIN nuevo',
  repeatPin: 'Repita el PIN',
  savePin: 'Guardar PIN',
  cancel: 'Cancelar',
  pinRule: {
    other: '{count} cifras. El PIN se cifra en este dispositivo.',
  },
  pinLength: { other: 'El PIN de esta tarjeta tiene {count} cifras.' },
  pinsDiffer: 'Los dos PIN no coinciden. Introduzca ambos de nuevo.',
  pinSet: 'Su PIN nuevo está activo.',
  tooOften: 'Para proteger la tarjeta, esta acción está limitada. Inténtelo más tarde.',
  tooOftenFor: {
    one: 'Para proteger la tarjeta, esta acción está limitada. Inténtelo en un minuto.',
    other: 'Para proteger la tarjeta, esta acción está limitada. Inténtelo en {count} minutos.',
  },
  failures: {
    offline: 'No hay conexión. Inténtelo de nuevo en un momento.',
    noAnswer: 'El servicio de tarjetas no responde. Inténtelo de nuevo en un momento.',
    starting: 'El servicio de tarjetas está arrancando. Inténtelo de nuevo en un momento.',
    keysUnavailable:
      'No se han podido cargar las claves del emisor, así que no se pueden mostrar los datos.',
    keysInvalid: 'Las claves del emisor no son válidas, así que no se pueden mostrar los datos.',
    insecurePage: 'Esta página no está configurada de forma segura: no se muestran datos.',
    wrongPage: 'Esta página no está bien configurada: no se muestran datos.',
    wrongClock:
      'El reloj de este dispositivo no es correcto, o la respuesta llegó tarde. Ajuste el reloj ' +
      'e inténtelo de nuevo.',
    cardClosed: 'Esta tarjeta está cerrada.',
    cardNotFound: 'Esta tarjeta no existe, o no es suya.',
    sessionEnded: 'Su sesión ha terminado. Abra la página de nuevo.',
    pinNotShown: 'El PIN de esta tarjeta no se puede mostrar. Puede elegir uno nuevo.',
    weakPin:
      'Ese PIN es demasiado fácil de adivinar. Evite series, repeticiones, años y partes del ' +
      'número de tarjeta.',
    pinNotOpened: 'El emisor no ha podido abrir el PIN cifrado. Inténtelo de nuevo.',
    invalidValue: 'Un valor del formulario no es válido. Corríjalo e inténtelo de nuevo.',
    changed:
      'La respuesta fue alterada en el camino desde el emisor, así que la página no muestra ' +
      'nada de ella. Si vuelve a ocurrir, avise a su banco.',
    other: 'No ha funcionado. Inténtelo más tarde.',
  },
}
