const en = {
  title: "Ask a question", open: "Open the chat", close: "Close the chat", placeholder: "Your question …", send: "Ask", stop: "Stop",
  greeting: "Ask me about our documents.", searching: "Looking for the answer …", ready: "The answer is ready", sources: "Sources", source: "Source {n}", page: "page {n}",
  back: "Close", again: "Try again", newChat: "New conversation", failed: "This question could not be answered.", refused: "This chat is not available on this page.",
  busy: "Too many questions at once. Please try again in a moment.", offline: "The server cannot be reached.", unsupported: "The sources do not support this answer.", stopped: "Stopped.",
};
export type Texts = typeof en;

/** The texts of the chat by the code of their language. */
export const texts: Record<string, Texts> = {
  en,
  de: {
    title: "Stellen Sie eine Frage", open: "Chat öffnen", close: "Chat schließen", placeholder: "Ihre Frage …", send: "Fragen", stop: "Anhalten",
    greeting: "Fragen Sie mich zu unseren Dokumenten.", searching: "Die Antwort wird gesucht …", ready: "Die Antwort ist fertig", sources: "Quellen", source: "Quelle {n}", page: "Seite {n}",
    back: "Schließen", again: "Noch einmal versuchen", newChat: "Neues Gespräch", failed: "Diese Frage konnte nicht beantwortet werden.", refused: "Dieser Chat ist auf dieser Seite nicht verfügbar.",
    busy: "Zu viele Fragen auf einmal. Bitte versuchen Sie es gleich noch einmal.", offline: "Der Server ist nicht erreichbar.", unsupported: "Die Quellen belegen diese Antwort nicht.", stopped: "Angehalten.",
  },
  fr: {
    title: "Posez une question", open: "Ouvrir le chat", close: "Fermer le chat", placeholder: "Votre question …", send: "Demander", stop: "Arrêter",
    greeting: "Posez-moi une question sur nos documents.", searching: "Recherche de la réponse …", ready: "La réponse est prête", sources: "Sources", source: "Source {n}", page: "page {n}",
    back: "Fermer", again: "Réessayer", newChat: "Nouvelle conversation", failed: "Il n’a pas été possible de répondre à cette question.", refused: "Ce chat n’est pas disponible sur cette page.",
    busy: "Trop de questions à la fois. Veuillez réessayer dans un instant.", offline: "Le serveur est injoignable.", unsupported: "Les sources ne confirment pas cette réponse.", stopped: "Arrêté.",
  },
  es: {
    title: "Haga una pregunta", open: "Abrir el chat", close: "Cerrar el chat", placeholder: "Su pregunta …", send: "Preguntar", stop: "Detener",
    greeting: "Pregúnteme sobre nuestros documentos.", searching: "Buscando la respuesta …", ready: "La respuesta está lista", sources: "Fuentes", source: "Fuente {n}", page: "página {n}",
    back: "Cerrar", again: "Volver a intentar", newChat: "Nueva conversación", failed: "No se pudo responder a esta pregunta.", refused: "Este chat no está disponible en esta página.",
    busy: "Demasiadas preguntas a la vez. Inténtelo de nuevo en un momento.", offline: "No se puede acceder al servidor.", unsupported: "Las fuentes no respaldan esta respuesta.", stopped: "Detenido.",
  },
};

/** Returns the texts in the first language that there is, or else in English. */
export function textsFor(languages: readonly (string | null | undefined)[]): Texts {
  for (const l of languages) {
    const found = texts[(l ?? "").slice(0, 2).toLowerCase()];
    if (found) return found;
  }
  return en;
}
