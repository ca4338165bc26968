import type { CardWords } from '../card-words.ts'

export const german: CardWords = {
  direction: 'ltr',
  card: 'Zahlungskarte',
  number: 'Kartennummer',
  expires: 'Gültig bis',
  cvv: 'CVV',
  pin: 'PIN',
  hidden: 'verborgen',
  endsIn: 'endet auf {digits}',
  show: 'Daten anzeigen',
  hide: 'Daten verbergen',
  copy: 'Nummer kopieren',
  busy: 'Einen Moment …',
  hiddenIn: 'verborgen in {count} s',
  detailsHidden: 'Daten verborgen.',
  shownFor: {
    one: 'Die Daten werden eine Sekunde lang angezeigt.',
    other: 'Die Daten werden {count} Sekunden lang angezeigt.',
  },
  copied:
    'Kopiert. Die Zwischenablage wird in {count} Sekunden geleert, wenn diese Seite dann offen ' +
    'ist.',
  cleared: 'Die Zwischenablage wurde geleert.',
  cannotCopy: 'Dieser Browser lässt die Seite nicht kopieren. Markieren Sie die Nummer.',
  cannotClear:
    'Dieser Browser lässt die Seite die Zwischenablage nicht leeren: Kopieren Sie etwas anderes.',
  setPin: 'PIN wählen',
  newPin: 'Neue PIN',
  repeatPin: 'PIN wiederholen',
  savePin: 'PIN speichern',
  cancel: 'Abbrechen',
  pinRule: {
    other: '{count} Ziffern. Die PIN wird auf diesem Gerät verschlüsselt.',
  },
  pinLength: { other: 'Die PIN dieser Karte hat {count} Ziffern.' },
  pinsDiffer: 'Die beiden PINs sind verschieden. Geben Sie beide noch einmal ein.',
  pinSet: 'Ihre neue PIN gilt.',
  tooOften: 'Zum Schutz der Karte ist das begrenzt. Versuchen Sie es später noch einmal.',
  tooOftenFor: {
    one: 'Zum Schutz der Karte ist das begrenzt. Versuchen Sie es in einer Minute noch einmal.',
    other:
      'Zum Schutz der Karte ist das begrenzt. Versuchen Sie es in {count} Minuten noch einmal.',
  },
  failures: {
    offline: 'Es besteht keine Verbindung. Versuchen Sie es gleich noch einmal.',
    noAnswer: 'Der Kartendienst antwortet nicht. Versuchen Sie es gleich noch einmal.',
    starting: 'Der Kartendienst startet gerade. Versuchen Sie es gleich noch einmal.',
    keysUnavailable:
      'Die Schlüssel des Herausgebers konnten nicht geladen werden. Daten können nicht angezeigt ' +
      'werden.',
    keysInvalid:
      'Die Schlüssel des Herausgebers sind nicht gültig. Daten können nicht angezeigt werden.',
    insecurePage: 'Diese Seite ist nicht sicher eingerichtet. Es werden keine Daten angezeigt.',
    wrongPage: 'Diese Seite ist nicht richtig eingerichtet. Es werden keine Daten angezeigt.',
    wrongClock:
      'Die Uhr dieses Geräts geht falsch, oder die Antwort kam zu spät. Stellen Sie die Uhr, und ' +
      'versuchen Sie es noch einmal.',
    cardClosed: 'Diese Karte ist geschlossen.',
    cardNotFound: 'Diese Karte gibt es nicht, oder es ist nicht Ihre.',
    sessionEnded: 'Ihre Sitzung ist beendet. Öffnen Sie die Seite noch einmal.',
    pinNotShown: 'Die PIN dieser Karte kann nicht angezeigt werden. Sie können eine neue wählen.',
    weakPin:
      'Diese PIN ist zu leicht zu erraten. Vermeiden Sie Reihen, Wiederholungen, Jahreszahlen ' +
      'und Teile der Kartennummer.',
    pinNotOpened:
      'Der Herausgeber konnte die verschlüsselte PIN nicht öffnen. Versuchen Sie es noch einmal.',
    invalidValue:
      'Ein Wert im Formular ist nicht gültig. Berichtigen Sie ihn, und versuchen Sie es noch ' +
      'einmal.',
    changed:
      'Die Antwort wurde auf dem Weg vom Herausgeber verändert. Die Seite zeigt nichts davon. ' +
      'Geschieht es wieder, sagen Sie es Ihrer Bank.',
    other: 'Das ging nicht. Versuchen Sie es später noch einmal.',
  },
}
