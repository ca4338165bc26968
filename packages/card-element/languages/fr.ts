import type { CardWords } from '../card-words.ts'

export const french: CardWords = {
  direction: 'ltr',
  card: 'Carte de paiement',
  number: 'Numéro de carte',
  expires: 'Expire fin',
  cvv: 'CVV',
  pin: 'Code PIN',
  hidden: 'masqué',
  endsIn: 'se termine par {digits}',
  show: 'Afficher les données',
  hide: 'Masquer les données',
  copy: 'Copier le numéro',
  busy: 'Un instant …',
  hiddenIn: 'masqué dans {count} s',
  detailsHidden: 'Données masquées.',
  shownFor: {
    one: 'Les données sont affichées pendant {count} seconde.',
    other: 'Les données sont affichées pendant {count} secondes.',
  },
  copied:
    'Copié. Le presse-papiers sera vidé dans {count} secondes, si cette page est encore ouverte.',
  cleared: 'Le presse-papiers a été vidé.',
  cannotCopy: 'Ce navigateur ne permet pas de copier. Sélectionnez le numéro.',
  cannotClear: 'Ce navigateur ne permet pas de vider le presse-papiers : copiez autre chose.',
  setPin: 'Choisir le code PIN',
  newPin: 'Nouveau code PIN',
  repeatPin: 'Répétez le code PIN',
  savePin: 'Enregistrer',
  cancel: 'Annuler',
  pinRule: {
    other: '{count} chiffres. Le code PIN est chiffré sur cet appareil.',
  },
  pinLength: { other: 'Le code PIN de cette carte a {count} chiffres.' },
  pinsDiffer: 'Les deux codes PIN sont différents. Saisissez-les de nouveau.',
  pinSet: 'Votre nouveau code PIN est actif.',
  tooOften: 'Pour protéger la carte, cette action est limitée. Réessayez plus tard.',
  tooOftenFor: {
    one: 'Pour protéger la carte, cette action est limitée. Réessayez dans {count} minute.',
    other: 'Pour protéger la carte, cette action est limitée. Réessayez dans {count} minutes.',
  },
  failures: {
    offline: 'Il n’y a pas de connexion. Réessayez dans un instant.',
    noAnswer: 'Le service des cartes ne répond pas. Réessayez dans un instant.',
    starting: 'Le service des cartes démarre. Réessayez dans un instant.',
    keysUnavailable:
      'Les clés de l’émetteur n’ont pas pu être chargées : les données ne peuvent pas être ' +
      'affichées.',
    keysInvalid:
      'Les clés de l’émetteur ne sont pas valides : les données ne peuvent pas être affichées.',
    insecurePage: 'Cette page n’est pas configurée de façon sûre : aucune donnée n’est affichée.',
    wrongPage: 'Cette page n’est pas bien configurée : aucune donnée n’est affichée.',
    wrongClock:
      'L’horloge de cet appareil n’est pas à l’heure, ou la réponse est arrivée trop tard. ' +
      'Réglez l’horloge et réessayez.',
    cardClosed: 'Cette carte est clôturée.',
    cardNotFound: 'Cette carte n’existe pas, ou n’est pas la vôtre.',
    sessionEnded: 'Votre session est terminée. Ouvrez de nouveau la page.',
    pinNotShown:
      'Le code PIN de cette carte ne peut pas être affiché. Vous pouvez en choisir un nouveau.',
    weakPin:
      'Ce code PIN est trop facile à deviner. Évitez les suites, les répétitions, les années et ' +
      'les parties du numéro de carte.',
    pinNotOpened: 'L’émetteur n’a pas pu ouvrir le code PIN chiffré. Réessayez.',
    invalidValue: 'Une valeur du formulaire n’est pas valide. Corrigez-la et réessayez.',
    changed:
      'La réponse a été modifiée en chemin depuis l’émetteur : la page n’en affiche rien. Si ' +
      'cela se reproduit, prévenez votre banque.',
    other: 'Cela n’a pas fonctionné. Réessayez plus tard.',
  },
}
